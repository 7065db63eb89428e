"""The session of a command: settings, terminal output, and a client created on first use."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TextIO

from danlu import messages
from danlu.errors import DanluError
from danlu.messages import get_message
from danlu.messages.terminal import TerminalOutput

if TYPE_CHECKING:
    from danlu.client.api import Client
    from danlu.settings import Settings

    Connect = Callable[[Settings], Client]


_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


class Screen(TerminalOutput):
    """Output of the command line, with colours and JSON."""

    def __init__(
        self,
        env: Mapping[str, str],
        out: TextIO | None = None,
        err: TextIO | None = None,
        color: str = "auto",
    ) -> None:
        super().__init__(out, err)
        self._env = env
        self.color = color

    @property
    def moves(self) -> bool:
        """True if a status line that is redrawn in place can be shown."""
        return self.err.isatty() and self._env.get("TERM") != "dumb"

    @property
    def asks(self) -> bool:
        """True if the user can answer questions, because stdin and stderr are terminals."""
        return sys.stdin is not None and sys.stdin.isatty() and self.err.isatty()

    @property
    def columns(self) -> int:
        """The width of stdout in cells; 0 if it is not a terminal and lines have no limit."""
        return shutil.get_terminal_size().columns if self.out.isatty() else 0

    def paint(self, text: str, style: str, stream: TextIO | None = None) -> str:
        if not text or not self._colors(stream or self.out):
            return text
        codes = ";".join(_CODES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def data(self, text: str) -> None:
        self._write(self.out, text + "\n")

    def json(self, value: Any) -> None:
        """Print a value as one line of JSON. Several of them are NDJSON."""
        self.data(json.dumps(value, ensure_ascii=False))

    def note(self, text: str) -> None:
        self._write(self.err, text + "\n")

    def print_message(self, key: str, /, **values: object) -> None:
        self.note(get_message(key, **values))

    def raw(self, data: bytes) -> None:
        """Write bytes to stdout unchanged."""
        self.out.flush()
        self.out.buffer.write(data)
        self.out.buffer.flush()

    def _colors(self, stream: TextIO) -> bool:
        if self.color != "auto":
            return self.color == "always"
        if self._env.get("NO_COLOR"):
            return False
        if self._env.get("FORCE_COLOR"):
            return True
        return stream.isatty() and self._env.get("TERM") != "dumb"


class Session:
    """One run of the command line. Settings and connection are loaded on first use."""

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        connect: "Connect | None" = None,
        screen: Screen | None = None,
    ) -> None:
        self.env = os.environ if env is None else env
        self.flags: dict[str, Any] = {}
        self.json = False
        self.debug = False
        self.screen = screen or Screen(self.env)
        self._connect = connect or _connect

    @cached_property
    def settings(self) -> "Settings":
        from danlu.settings import load

        return load(self.flags, self.env)

    @cached_property
    def client(self) -> "Client":
        """A client of the server in the settings, or of this machine's own server.

        This machine's server is started if it does not run.
        """
        return self._connect(self.settings)

    def choose_language(self) -> None:
        """Set the language from flag, environment, settings file or locale, in this order."""
        from danlu.errors import UserError

        try:
            lang = self.settings.lang
        except UserError:
            # A broken settings file is reported by the command that needs it, not by --help.
            lang = self.flags.get("lang") or self.env.get("DANLU_LANG", "")
        messages.use(lang or messages.of_locale(self.env))


def _connect(settings: "Settings") -> "Client":
    from danlu.client.api import connect

    return connect(settings)


_NEWEST = 200


def job_names(session: Session) -> list[str]:
    """Return the names of the newest jobs, from the running server or from the disk."""
    try:
        if state(session)["running"]:
            found = session.client.jobs(limit=_NEWEST)["jobs"]
            return [str(job["name"]) for job in found]
        return _on_disk(session)
    except (DanluError, OSError):
        return []


def _on_disk(session: Session) -> list[str]:
    """Return the names of the newest jobs without a server.

    Every job that has started has a plan file that contains its name.
    """
    from danlu.taskdir.files import TaskDir, tasks_of
    from danlu.taskdir.job_files import LocalJobFiles

    folders = sorted(session.settings.jobs.glob("*"), reverse=True)
    names = []
    for folder in folders[:_NEWEST]:
        store = LocalJobFiles(folder)
        for task in tasks_of(store, 1)[:1]:
            if plan := TaskDir(store, 1, task).plan():
                names.append(plan.job_name)
    return names


def state(session: Session) -> dict[str, Any]:
    """Return ``running`` and the information that the server reports about itself."""
    if session.settings.server:
        return {"running": True, "url": session.settings.server, **session.client.hello()}
    from danlu.client.background import status

    return status(session.settings)._asdict()
