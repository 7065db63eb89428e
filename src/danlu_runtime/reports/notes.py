"""The translation report of a job: notes on what was repaired, mapped or removed.

Each note is written once. A note is one JSON line of ``$DANLU_BOX/translation.jsonl``. Repairs are
printed to stderr too. Processes started by the script read the existing notes and do not repeat
them.
"""

from __future__ import annotations

import os
import sys

from danlu.messages import get_message
from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any


BOX = "DANLU_BOX"
FILE = "translation.jsonl"
KINDS = ("repaired", "mapped", "gone")
_noted: set[tuple[str, str, int]] = set()
_read: set[str] = set()  # reports that have been read into _noted


def note(kind: str, text: str, file: str = "", line: int = 0) -> None:
    """Write a note once; the path of a user's file is made relative to the code."""
    if kind not in KINDS:
        raise ValueError(f"A note is one of {', '.join(KINDS)}, got {kind!r}.")
    file = own_code.relative(file) or file
    report = os.path.join(os.environ[BOX], FILE) if os.environ.get(BOX) else ""
    _remember(report)
    if (text, file, line) in _noted:
        return
    _noted.add((text, file, line))
    if kind == "repaired":
        print_message(text, file, line)
    if report:
        _append(report, {"kind": kind, "text": text, "file": file, "line": line})


def caller() -> tuple[str, int]:
    """Return file and line of the innermost frame in the user's code, ("", 0) if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = own_code.relative(frame.f_code.co_filename)
        if file:
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def print_message(text: str, file: str = "", line: int = 0) -> None:
    """Print a message of the platform to stderr."""
    where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
    try:
        sys.stderr.write(f"[danlu] {where}{text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # the script has closed stderr or has none


def _append(report: str, entry: dict[str, object]) -> None:
    line = own_code.import_isolated("json").dumps(entry, ensure_ascii=False) + "\n"
    try:
        with open(report, "ab", buffering=0) as file:
            # One write call keeps the lines of several processes apart.
            file.write(line.encode("utf-8", "replace"))
    except OSError as error:
        print_message(get_message("runtime.note_lost", report=report, error=error))


def _remember(report: str) -> None:
    if report in _read:
        return
    _read.add(report)
    for entry in _lines(report):
        _noted.add((str(entry.get("text")), str(entry.get("file")), int(entry.get("line") or 0)))


def _lines(report: str) -> Iterator[dict[str, Any]]:
    try:
        with open(report, "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return
    json = own_code.import_isolated("json")
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a process was killed during its write
        if isinstance(entry, dict):
            yield entry
