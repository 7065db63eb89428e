"""The event files a script has written into its outputs, and the process that reads them."""

import contextlib
import json
import logging
import os
import select
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from danlu.agent.processes import Processes
from danlu.errors import PlatformError
from danlu.job.curves import Curves
from danlu.job.plan import Push
from danlu.job.wire import from_wire
from danlu.storage.walking import walk

if TYPE_CHECKING:
    import subprocess

log = logging.getLogger(__name__)

_READER = (sys.executable, "-m", "danlu.summaries")
_ENTRIES = 20_000  # of the outputs are looked at
_MOST = 200
_DEEPEST = 50
_TRIES = 3


def find_event_files(outputs: Mapping[Push, Path]) -> list[tuple[str, str]]:
    """Return run and path of each; a link is not followed, and a pipe is no file."""
    found: list[tuple[str, str]] = []
    left = _ENTRIES
    for item, folder in outputs.items():
        before = f"{item.what}/" if len(outputs) > 1 else ""
        for path, folders, names in walk(folder, deepest=_DEEPEST):
            folders.sort()
            left -= len(folders) + len(names)
            run = os.path.normpath(before + os.path.relpath(path, folder))
            for name in sorted(name for name in names if "tfevents" in name):
                if _is_file(os.path.join(path, name)):
                    found.append((run, os.path.join(path, name)))
            if left < 0 or len(found) >= _MOST:
                return found[:_MOST]
    return found


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


class CurveReader:
    """A process that is started with the first question and lives until :meth:`close`.

    One that does not answer, or dies, is started anew, and given up after a few times.
    """

    def __init__(self, processes: Processes, command: Sequence[str] = _READER) -> None:
        self._processes = processes
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._failed = 0

    def ask(self, files: Sequence[tuple[str, str]], timeout: float) -> Curves | None:
        """Return the curves in ``files``; None where nothing is new, or nobody answers."""
        if self._failed >= _TRIES:
            return None
        try:
            answer = json.loads(self._exchange(json.dumps(files).encode() + b"\n", timeout))
            return None if answer is None else from_wire(Curves, answer)
        except (OSError, ValueError, PlatformError) as error:
            self._failed += 1
            log.warning("curves not read failed=%s error=%s", self._failed, error)
            self.close()
            return None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a question it has not taken
                if pipe is not None:
                    pipe.close()
        process.wait()
        self._processes.spared.discard(process.pid)

    def _exchange(self, question: bytes, timeout: float) -> bytes:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(question)
        process.stdin.flush()
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN | select.POLLHUP)
        deadline = time.monotonic() + timeout
        answer = b""
        while not answer.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise PlatformError(f"The reader of curves did not answer within {timeout:g} s.")
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                raise PlatformError("The reader of curves has ended.")
            answer += data
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            import subprocess  # on use: most tasks write no event file

            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/"
            )
            self._processes.spared.add(self._process.pid)
        return self._process
