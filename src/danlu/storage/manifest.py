"""What was moved: the files of a tree, and how far a transfer is."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Progressing = Callable[[int, int], None]
"""Told bytes done and bytes in all, often. What it raises ends the transfer."""


@dataclass(frozen=True)
class Mark:
    """A file as it was when it was moved; ``mtime_ns`` -1: it may have changed just then.

    A large object that was fetched has its etag for a sum: to add up as much again would take
    longer than some services need to send it.
    """

    size: int
    mtime_ns: int
    sha256: str
    etag: str = ""


@dataclass(frozen=True)
class Manifest:
    """The files of a tree by relative path, and its empty folders."""

    files: Mapping[str, Mark] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(mark.size for mark in self.files.values())


class Tally:
    """Adds up what was moved, for a caller's progress. Safe for threads."""

    def __init__(self, total: int, progress: Progressing | None) -> None:
        self.done = 0
        self.total = total
        self._progress = progress
        self._lock = threading.Lock()
        self.add(0)

    def add(self, count: int) -> None:
        with self._lock:
            self.done += count
            if self._progress is not None:
                self._progress(self.done, max(self.done, self.total))
