"""The exchange directory: files that the agent and the child process pass to each other.

The child sees neither the task directory nor ``DANLU_HOME``. The files are:

    launch.json     what to run; written by the agent
    failure.json    how the child failed; written by the child
    crash.txt       stack at the time of a crash; written by Python's faulthandler
    progress.json   training progress; written by the process that trains
    step            the current step, eight bytes; written much more often than progress.json
    translation.jsonl   one compatibility note per line; written by any process of the task
    events/         event files that the script writes to object stores, by scheme and bucket
    kept_at         folders where copies of replaced objects are, one per line; written likewise

The agent also keeps the AWS and s3cmd configuration and installed packages in this directory.
"""

import json
import math
import os
import re
import shutil
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import danlu
from danlu.atomic_file import write_whole
from danlu.job.status import (
    GONE,
    MAPPED,
    MAX_NOTES,
    REPAIRED,
    UNLIMITED,
    Failure,
    Note,
    Steps,
    Translation,
)
from danlu.job.wire import from_wire, to_wire


def dump(data: Any) -> bytes:
    """Return ``data`` as compact JSON in UTF-8, with non-ASCII characters unescaped.

    A file name in another encoding reaches Python as lone surrogates. UTF-8 cannot encode them;
    ``backslashreplace`` writes them as JSON escapes.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def clean(value: Any) -> Any:
    """Return a JSON value with every string encodable as UTF-8.

    JSON written by a script may hold lone surrogates. They are replaced by escapes.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value


def load(data: bytes | None) -> dict[str, Any] | None:
    """Return the JSON object in ``data``, or None if it holds no JSON object.

    A power failure leaves empty files. They count as not written.
    """
    try:
        found = json.loads(data or b"null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


LAUNCHER = Path(danlu.__file__).parents[1] / "danlu_runtime" / "launch.py"  # the child's program
LAUNCH = "launch.json"
FAILURE = "failure.json"
CRASH = "crash.txt"
PROGRESS = "progress.json"
STEP = "step"
TRANSLATION = "translation.jsonl"
EVENTS = "events"
KEPT_AT = "kept_at"
_KINDS = (REPAIRED, MAPPED, GONE)
_LARGEST = 1 << 20
_MOST_FOLDERS = 1000
_FOLDER = re.compile(r"(?:obs|s3|ks3|cos)://.{1,1100}/")


@dataclass(frozen=True)
class Launch:
    """What the child process runs. Every path is the path that the child sees."""

    run: str
    args: tuple[str, ...]
    module: bool
    sys_path: tuple[str, ...]
    code: str  # directory of the user's own files
    # Fixed path -> real path, for the files that Python itself opens.
    mapped: Mapping[str, str] = field(default_factory=dict)
    functions: bool = False  # the file holds functions that a driver of Danlu calls
    report: str = ""  # where to create a file named 'success' or 'failure'


class ExchangeDir:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write_launch(self, launch: Launch) -> None:
        self._write(LAUNCH, to_wire(launch))

    def launch(self) -> Launch:
        return from_wire(Launch, json.loads((self.folder / LAUNCH).read_bytes()))

    def write_failure(self, failure: Failure) -> None:
        self._write(FAILURE, to_wire(failure))

    def failure(self) -> Failure | None:
        """Return the failure that the child reported, or None if there is no valid report.

        The script can write to this directory. The content is not trusted, and neither is the
        file type.
        """
        try:
            data = clean(load(_read_plain_file(self.folder / FAILURE)))
            failure = None if data is None else from_wire(Failure, data)
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        return failure if failure is not None and _is_sound(failure) else None

    def delete_reports(self) -> None:
        """Delete the reports and event files of the child after the agent has copied them.

        Their text may contain a secret.
        """
        for name in (FAILURE, CRASH, TRANSLATION):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / EVENTS, ignore_errors=True)

    def crash(self) -> str:
        """Return the text that Python's faulthandler wrote, or "" if there is none.

        The content is not trusted, as with :meth:`failure`.
        """
        try:
            return _read_plain_file(self.folder / CRASH).decode(errors="replace")
        except (OSError, ValueError):
            return ""

    def steps(self) -> Steps | None:
        """Return the training progress, or None if there is no valid report.

        The content is not trusted, as with :meth:`failure`.
        """
        try:
            data = load(_read_plain_file(self.folder / PROGRESS)) or {}
        except (OSError, ValueError, RecursionError):
            return None
        step, total, rate, at = (data.get(name) for name in ("step", "total", "rate", "time"))
        if not _is_count(step) or not (total is None or _is_count(total)):
            return None
        if not _is_measure(rate) or not _is_measure(at):
            return None
        unlimited = data.get("unlimited")
        return Steps(
            max(step, self._noted()),
            total or None,
            float(rate),
            float(at),
            str(unlimited) if unlimited in UNLIMITED else "",
        )

    def _noted(self) -> int:
        try:
            (step,) = struct.unpack("<q", _read_plain_file(self.folder / STEP))
        except (OSError, ValueError, struct.error):
            return 0
        return int(step)

    def translation(self) -> Translation:
        """Return the notes that the processes of the task have written so far.

        The content is not trusted, as with :meth:`failure`. Invalid lines are ignored because a
        line may be half written.
        """
        try:
            data = _read_plain_file(self.folder / TRANSLATION, cut=True)
        except (OSError, ValueError):
            return Translation()
        notes = dict.fromkeys(filter(None, map(_note, data.split(b"\n"))))
        return Translation(tuple(notes)[:MAX_NOTES], max(0, len(notes) - MAX_NOTES))

    def kept_at(self) -> tuple[str, ...]:
        """Return the folders where copies of replaced objects are, as far as they were reported.

        The content is not trusted, as with :meth:`failure`.
        """
        try:
            text = _read_plain_file(self.folder / KEPT_AT, cut=True).decode(errors="replace")
        except (OSError, ValueError):
            return ()
        lines = dict.fromkeys(text.split("\n"))
        return tuple(filter(_FOLDER.fullmatch, lines))[:_MOST_FOLDERS]

    def _write(self, name: str, data: object) -> None:
        write_whole(self.folder / name, dump(data), parents=True)


def _read_plain_file(path: Path, *, cut: bool = False) -> bytes:
    """Return the content of a regular file of at most 1 MiB.

    If ``cut`` is true, return the beginning of a larger file instead of raising ValueError.
    """
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
    if kind not in _KINDS or not isinstance(text, str) or not isinstance(file, str):
        return None
    if type(number) is not int or not 0 <= number <= _LARGEST:
        return None
    return Note(kind, text[:2000], file[:1000], number) if text else None


def _is_sound(failure: Failure) -> bool:
    """Return True if every field has its declared type. The JSON is not trusted."""
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
