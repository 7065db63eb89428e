"""What agent and child say to each other: three files in a folder both can see.

The child sees nothing else of the platform: not the task directory, not ``DANLU_HOME``.

    launch.json     what to run, written by the agent
    failure.json    what the child knows of its own failure, written by the child
    crash.txt       where it was when it crashed, written by Python's faulthandler
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from danlu.job.status import Failure
from danlu.job.wire import from_wire, to_wire
from danlu.taskdir.encoding import clean, dump, load

LAUNCH = "launch.json"
FAILURE = "failure.json"
CRASH = "crash.txt"
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Launch:
    """What the child runs; every path is the one it sees."""

    run: str
    args: tuple[str, ...]
    module: bool
    sys_path: tuple[str, ...]
    code: str  # the user's own files lie below it
    # Fixed path -> real one, for what Python itself opens.
    mapped: Mapping[str, str] = field(default_factory=dict)
    functions: bool = False  # the file holds functions that a driver of ours calls
    report: str = ""  # where to leave a file 'success' or 'failure'


class Box:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_launch(self, launch: Launch) -> None:
        self._write(LAUNCH, to_wire(launch))

    def launch(self) -> Launch:
        return from_wire(Launch, json.loads((self.folder / LAUNCH).read_bytes()))

    def write_failure(self, failure: Failure) -> None:
        self._write(FAILURE, to_wire(failure))

    def failure(self) -> Failure | None:
        """Return what the child said; None where it said nothing that can be understood.

        The script can write here too: nothing in it is trusted, not even that it is a file.
        """
        try:
            data = clean(load(_read_plain_file(self.folder / FAILURE)))
            failure = None if data is None else from_wire(Failure, data)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return failure if failure is not None and _is_sound(failure) else None

    def forget(self) -> None:
        """Remove what the child left: its text may hold a secret, and has been taken over."""
        for name in (FAILURE, CRASH):
            (self.folder / name).unlink(missing_ok=True)

    def crash(self) -> str:
        """Return what Python's faulthandler wrote, as little trusted as :meth:`failure`."""
        try:
            return _read_plain_file(self.folder / CRASH).decode(errors="replace")
        except (OSError, ValueError):
            return ""

    def _write(self, name: str, data: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}.tmp"
        temporary.write_bytes(dump(data))
        os.replace(temporary, self.folder / name)


def _read_plain_file(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("not a file")
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise ValueError("too large")
    return data


def _is_sound(failure: Failure) -> bool:
    """Tell whether every field is of its type: JSON of a stranger may hold anything."""
    texts = [failure.exception, failure.message, failure.signal, failure.disk_full]
    texts += [failure.found, failure.detail, failure.traceback, *failure.last_lines]
    for frame in failure.frames:
        texts += [frame.file, frame.function, frame.text]
    numbers = [number for frame in failure.frames for number in (frame.line, frame.column)]
    if failure.exit_code is not None:
        numbers.append(failure.exit_code)
    return (
        all(isinstance(text, str) for text in texts)
        and all(isinstance(number, int) for number in numbers)
        and isinstance(failure.out_of_memory, bool)
    )
