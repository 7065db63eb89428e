"""What agent and child say to each other: six files in a folder both can see.

The child sees nothing else of the platform: not the task directory, not ``DANLU_HOME``.

    launch.json     what to run, written by the agent
    failure.json    what the child knows of its own failure, written by the child
    crash.txt       where it was when it crashed, written by Python's faulthandler
    progress.json   how far its training is, written by the process that trains
    step            the step alone, eight bytes, noted much more often than that
    translation.jsonl   what its old code needed, a line each, written by any process of the task
"""

import json
import math
import os
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

import danlu
from danlu.job.status import Failure, Steps
from danlu.job.translation import GONE, MAPPED, MOST, REPAIRED, Note, Translation
from danlu.job.wire import from_wire, to_wire
from danlu.taskdir.encoding import clean, dump, load

LAUNCHER = Path(danlu.__file__).parents[1] / "danlu_runtime" / "launch.py"  # the child's program
LAUNCH = "launch.json"
FAILURE = "failure.json"
CRASH = "crash.txt"
PROGRESS = "progress.json"
STEP = "step"
TRANSLATION = "translation.jsonl"
_TOLD = (REPAIRED, MAPPED, GONE)
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
        for name in (FAILURE, CRASH, TRANSLATION):
            (self.folder / name).unlink(missing_ok=True)

    def crash(self) -> str:
        """Return what Python's faulthandler wrote, as little trusted as :meth:`failure`."""
        try:
            return _read_plain_file(self.folder / CRASH).decode(errors="replace")
        except (OSError, ValueError):
            return ""

    def steps(self) -> Steps | None:
        """Return how far the training is, as little trusted; None where nothing is told."""
        try:
            told = load(_read_plain_file(self.folder / PROGRESS)) or {}
        except (OSError, ValueError, RecursionError):
            return None
        step, total, rate, at = (told.get(name) for name in ("step", "total", "rate", "time"))
        if not _is_count(step) or not (total is None or _is_count(total)):
            return None
        if not _is_measure(rate) or not _is_measure(at):
            return None
        return Steps(max(step, self._noted()), total or None, float(rate), float(at))

    def _noted(self) -> int:
        try:
            (step,) = struct.unpack("<q", _read_plain_file(self.folder / STEP))
        except (OSError, ValueError, struct.error):
            return 0
        return int(step)

    def translation(self) -> Translation:
        """Return the notes the processes of the task have left so far, as little trusted.

        A line that makes no sense is passed over: it may be half written.
        """
        try:
            data = _read_plain_file(self.folder / TRANSLATION, cut=True)
        except (OSError, ValueError):
            return Translation()
        notes = dict.fromkeys(filter(None, map(_note, data.split(b"\n"))))
        return Translation(tuple(notes)[:MOST], max(0, len(notes) - MOST))

    def _write(self, name: str, data: object) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        temporary = self.folder / f".{name}.tmp"
        temporary.write_bytes(dump(data))
        os.replace(temporary, self.folder / name)


def _read_plain_file(path: Path, *, cut: bool = False) -> bytes:
    """Return what is in a file; of one that is too large the beginning, if it may be ``cut``."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("not a file")
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST and not cut:
        raise ValueError("too large")
    return data


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 1 << 63


def _is_measure(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def _note(line: bytes) -> Note | None:
    try:
        found = clean(load(line)) or {}
        kind, text = found.get("kind"), found.get("text")
        file, number = found.get("file", ""), found.get("line", 0)
    except (ValueError, RecursionError):
        return None
    if kind not in _TOLD or not isinstance(text, str) or not isinstance(file, str):
        return None
    if type(number) is not int or not 0 <= number <= _LARGEST:
        return None
    return Note(kind, text[:2000], file[:1000], number) if text else None


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
