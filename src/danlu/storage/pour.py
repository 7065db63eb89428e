"""A large object on its way into a file: long ranges of it, several at once, each at its place.

A request costs a service more than the bytes it answers with: so there are few, and long ones.
"""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from danlu.storage.api import Entry
from danlu.storage.hands import ONE_REQUEST, share
from danlu.storage.inside import write_at
from danlu.storage.segments import Segment, Segments

STREAMS = 8

Take = Callable[[memoryview], None]  # of bytes that are good until it returns


@runtime_checkable
class Streaming(Protocol):
    """A storage across a network, which gives a range of an object piece by piece."""

    def stream(self, entry: Entry, start: int, end: int, take: Take) -> None:
        """Call ``take`` with the bytes of a range, in order; of just this version of the object.

        Raises:
            Changed: there is another one now, or none.
        """


class Pour:
    """An object that writes itself into a file; ``told`` hears how many bytes are there."""

    def __init__(
        self, storage: Streaming, entry: Entry, told: Callable[[int], None] = lambda _: None
    ) -> None:
        self._storage = storage
        self._entry = entry
        self._told = told

    def pour(self, handle: int) -> None:
        """Write the object; what an earlier call left of it in the file is gone on with."""
        segments = Segments(handle, self._entry.size)
        over = threading.Event()

        def some(mine: Iterator[Segment]) -> None:
            # Of its own: one that hangs may outlive the file, and what gets its number then.
            own = os.dup(handle)
            try:
                for segment in mine:
                    self._bring(segment, own, over)
            finally:
                os.close(own)

        try:
            share(segments.begin(), some, STREAMS)
        finally:
            over.set()
        segments.end()

    def _bring(self, segment: Segment, handle: int, over: threading.Event) -> None:
        at = segment.at
        noted = Segments(handle, self._entry.size)
        self._told(at - segment.start)

        def take(piece: memoryview) -> None:
            nonlocal at
            if over.is_set():  # who comes late must not touch a file that others have by now
                raise _TooLate
            write_at(handle, piece, at)
            at += len(piece)
            noted.note(segment.number, at)
            self._told(len(piece))

        if at < segment.end:
            self._storage.stream(self._entry, at, segment.end, take)


class _TooLate(Exception):
    """Another segment has failed meanwhile."""


def worthwhile(storage: object, entry: Entry) -> bool:
    """Tell whether an object is large enough, and its storage able, to be poured."""
    return entry.size > ONE_REQUEST and isinstance(storage, Streaming)
