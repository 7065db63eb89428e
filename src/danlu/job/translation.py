"""What a job's old code needed to run on this runtime: told by its tasks, kept with them."""

from collections.abc import Iterable
from dataclasses import dataclass

REPAIRED = "repaired"  # the text of a file: Python 2, tabs, full-width marks
MAPPED = "mapped"  # a name that is served by another one today
RELAXED = "relaxed"  # a version that cannot be installed here
GONE = "gone"  # a name that nothing can stand for
KINDS = (REPAIRED, MAPPED, RELAXED, GONE)
MOST = 1000  # notes of one task, or of one job


@dataclass(frozen=True)
class Note:
    """One thing that was done. ``file`` is relative to the code, ``line`` 0 where none is meant."""

    kind: str
    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class Translation:
    """``left_out``: how many notes there were beyond the most that are kept."""

    notes: tuple[Note, ...] = ()
    left_out: int = 0

    def of(self, kind: str) -> tuple[Note, ...]:
        return tuple(note for note in self.notes if note.kind == kind)


def merged(parts: Iterable[Translation]) -> Translation:
    """Return all notes, each once: the tasks of a job run the same code."""
    found: dict[Note, None] = {}
    left_out = 0
    for part in parts:
        found.update(dict.fromkeys(part.notes))
        left_out += part.left_out
    notes = tuple(found)
    return Translation(notes[:MOST], left_out + max(0, len(notes) - MOST))
