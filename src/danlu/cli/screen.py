"""The two streams of a command: data to stdout, everything else to stderr.

Colour and moving lines appear only on a terminal that wants them (``NO_COLOR``, ``FORCE_COLOR``,
``TERM=dumb``, ``--color``).
"""

import json
import shutil
import sys
import threading
from collections.abc import Mapping
from typing import Any, TextIO

from danlu.job.harmless import harmless
from danlu.words import say

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}
CLEAR = "\r\x1b[2K"


class Screen:
    """Safe to use from several threads: a line of ours never cuts one of the log in two."""

    def __init__(
        self,
        env: Mapping[str, str],
        out: TextIO | None = None,
        err: TextIO | None = None,
        color: str = "auto",
    ) -> None:
        self._env = env
        self._out = out
        self._err = err
        self.color = color
        self._lock = threading.Lock()
        self._moving = False

    # Looked up on use: whoever replaces sys.stdout means us too.
    @property
    def out(self) -> TextIO:
        return self._out or sys.stdout

    @property
    def err(self) -> TextIO:
        return self._err or sys.stderr

    @property
    def moves(self) -> bool:
        """Whether a line that rewrites itself can be shown."""
        return self.err.isatty() and self._env.get("TERM") != "dumb"

    @property
    def asks(self) -> bool:
        """Whether there is somebody to answer a question."""
        return sys.stdin is not None and sys.stdin.isatty() and self.err.isatty()

    @property
    def columns(self) -> int:
        """How wide stdout is; 0 where lines may be as long as they like."""
        return shutil.get_terminal_size().columns if self.out.isatty() else 0

    def paint(self, text: str, style: str, stream: TextIO | None = None) -> str:
        if not text or not self._colors(stream or self.out):
            return text
        codes = ";".join(_CODES[name] for name in style.split())
        return f"\x1b[{codes}m{text}\x1b[0m"

    def data(self, text: str) -> None:
        self._write(self.out, text + "\n")

    def json(self, value: Any) -> None:
        """One line of JSON: several of them are NDJSON."""
        self.data(json.dumps(value, ensure_ascii=False))

    def note(self, text: str) -> None:
        self._write(self.err, text + "\n")

    def say(self, key: str, /, **values: object) -> None:
        self.note(say(key, **values))

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self.out.flush()
        self.out.buffer.write(data)
        self.out.buffer.flush()

    def move(self, text: str) -> None:
        """Show ``text`` on the line that rewrites itself; empty text takes it away."""
        with self._lock:
            if text or self._moving:
                self.err.write(CLEAR + harmless(text).replace("\n", " "))
                self.err.flush()
            self._moving = bool(text)

    def _write(self, stream: TextIO, text: str) -> None:
        with self._lock:
            if self._moving:
                self.err.write(CLEAR)
                self.err.flush()
                self._moving = False
            stream.write(harmless(text) if stream.isatty() else text)
            stream.flush()

    def _colors(self, stream: TextIO) -> bool:
        if self.color != "auto":
            return self.color == "always"
        if self._env.get("NO_COLOR"):
            return False
        if self._env.get("FORCE_COLOR"):
            return True
        return stream.isatty() and self._env.get("TERM") != "dumb"
