"""How far the segments of a file are that is written at several places at once: its end says so.

While it is on its way a file is longer than the object, by eight bytes for each segment: up to
where that one is whole. Who was killed goes on from there. Only within one boot: a power cut may
keep the numbers and not the bytes.
"""

import os
from dataclasses import dataclass

from danlu.storage.inside import write_at

SHORTEST, LONGEST = 8 << 20, 64 << 20  # as requests are; fewer cost a service less
_MANY = 8  # of one object: so many come at once
_NUMBER = 8  # bytes


@dataclass(frozen=True)
class Segment:
    """From ``start`` to ``end`` of an object; whole up to ``at``."""

    number: int
    start: int
    at: int
    end: int


class Segments:
    """Of the file of a descriptor, which is to have ``size`` bytes."""

    def __init__(self, handle: int, size: int) -> None:
        self._handle = handle
        self._size = size
        self._length = max(SHORTEST, min(-(-size // _MANY), LONGEST))
        self._count = -(-size // self._length)

    def begin(self) -> list[Segment]:
        """Return all segments as the file has them, and note it at its end."""
        found = os.fstat(self._handle).st_size
        if found == self._size + self._count * _NUMBER:
            noted = os.pread(self._handle, self._count * _NUMBER, self._size)
            ends = [noted[at : at + _NUMBER] for at in range(0, len(noted), _NUMBER)]
            whole = [int.from_bytes(end, "big") for end in ends]
        else:  # from its beginning on, or nothing that we know
            whole = [found if found <= self._size else 0] * self._count
        segments = [self._segment(number, whole[number]) for number in range(self._count)]
        for segment in segments:
            self.note(segment.number, segment.at)
        return segments

    def _segment(self, number: int, whole: int) -> Segment:
        start = number * self._length
        end = min(start + self._length, self._size)
        return Segment(number, start, max(start, min(whole, end)), end)

    def note(self, number: int, at: int) -> None:
        write_at(self._handle, at.to_bytes(_NUMBER, "big"), self._size + number * _NUMBER)

    def end(self) -> None:
        """Leave the bytes of the object only."""
        os.ftruncate(self._handle, self._size)
