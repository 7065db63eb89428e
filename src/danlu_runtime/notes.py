"""The translation report of a job: what was repaired, mapped or is gone, each told once.

A note is one JSON line of ``$DANLU_BOX/translation.jsonl``; what was repaired is told on stderr
too. Processes the script starts read what is there: a note is not told a second time by them.
"""

from __future__ import annotations

import os
import sys

from danlu_runtime import apart, own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BOX = "DANLU_BOX"
FILE = "translation.jsonl"
KINDS = ("repaired", "mapped", "gone")
_told: set[tuple[str, str, int]] = set()
_read: set[str] = set()  # reports whose notes are in _told


def note(kind: str, text: str, file: str = "", line: int = 0) -> None:
    """Tell something once; a file of the user's is told relative to the code."""
    if kind not in KINDS:
        raise ValueError(f"A note is one of {', '.join(KINDS)}, got {kind!r}.")
    file = own_code.relative(file) or file
    report = os.path.join(os.environ[BOX], FILE) if os.environ.get(BOX) else ""
    _remember(report)
    if (text, file, line) in _told:
        return
    _told.add((text, file, line))
    if kind == "repaired":
        say(text, file, line)
    if report:
        _append(report, {"kind": kind, "text": text, "file": file, "line": line})


def caller() -> tuple[str, int]:
    """Return file and line of the innermost frame in the user's code, ("", 0) outside of it."""
    frame = sys._getframe(1)
    while frame is not None:
        file = own_code.relative(frame.f_code.co_filename)
        if file:
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def say(text: str, file: str = "", line: int = 0) -> None:
    """Say something of the platform's on stderr, where the script's own lines go."""
    where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
    try:
        sys.stderr.write(f"[danlu] {where}{text}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        pass  # the script has closed it, or has none


def _append(report: str, entry: dict[str, object]) -> None:
    line = apart.load("json").dumps(entry, ensure_ascii=False) + "\n"
    try:
        with open(report, "ab", buffering=0) as file:
            file.write(line.encode("utf-8", "replace"))  # one write: lines are never mixed
    except OSError as error:
        say(f"the note could not be kept in {report}: {error}")


def _remember(report: str) -> None:
    if report in _read:
        return
    _read.add(report)
    for entry in _lines(report):
        _told.add((str(entry.get("text")), str(entry.get("file")), int(entry.get("line") or 0)))


def _lines(report: str) -> Iterator[dict[str, object]]:
    try:
        with open(report, "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return
    json = apart.load("json")
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # a process was killed while it wrote
        if isinstance(entry, dict):
            yield entry
