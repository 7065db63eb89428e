"""The output of a task: segments named by byte offset.

A reader remembers one number, the offset of the next byte it wants, and loses nothing: segments
never change below their end. Past the limit whole segments between the first and the newest are
removed; a reader that meets the gap is told how many bytes are gone.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from danlu.taskdir.api import Carrier

SEGMENT = 8 << 20
_MARKS = 2048


@dataclass(frozen=True)
class Chunk:
    """``data`` from ``start`` on; ``skipped`` bytes before it are gone for good."""

    start: int
    data: bytes
    skipped: int = 0

    @property
    def next(self) -> int:
        return self.start + len(self.data)


class LogWriter:
    """Not for several threads: :meth:`write` and :meth:`flush` belong to one caller."""

    def __init__(
        self,
        carrier: Carrier,
        at: str,
        *,
        limit: int,
        segment: int = SEGMENT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._carrier = carrier
        self._at = at
        self._segment = segment
        self._keep = max(2, limit // segment)
        self._clock = clock
        self._starts: list[int] = []
        self._end = 0
        self._buffer = bytearray()
        self._marks: list[tuple[int, float]] = []
        self._interval = 1.0

    @property
    def end(self) -> int:
        return self._end

    def write(self, data: bytes) -> None:
        if not data:
            return
        self._mark()
        if self._carrier.grows:
            self._append(data)
        else:
            self._buffer += data
            self._end += len(data)
            if len(self._buffer) >= self._segment:
                self.flush()

    def flush(self) -> None:
        """Make everything written so far readable."""
        if self._buffer:
            start = self._end - len(self._buffer)
            self._carrier.put(self._name(start), bytes(self._buffer))
            self._buffer.clear()
            self._opened(start)
        if self._marks:
            self._carrier.put(self._at + "log.marks.json", json.dumps(self._marks).encode())

    def _append(self, data: bytes) -> None:
        if not self._starts or self._end - self._starts[-1] >= self._segment:
            self._opened(self._end)
        self._carrier.append(self._name(self._starts[-1]), data)
        self._end += len(data)

    def _opened(self, start: int) -> None:
        self._starts.append(start)
        if len(self._starts) > self._keep:
            # The first segment tells how the job began; the newest, how it ends.
            self._carrier.remove(self._name(self._starts.pop(1)))

    def _mark(self) -> None:
        now = self._clock()
        if self._marks and now - self._marks[-1][1] < self._interval:
            return
        self._marks.append((self._end, now))
        if len(self._marks) > _MARKS:
            self._marks = self._marks[::2]
            self._interval *= 2

    def _name(self, start: int) -> str:
        return f"{self._at}log/{start:020d}"


class LogReader:
    def __init__(self, carrier: Carrier, at: str) -> None:
        self._carrier = carrier
        self._at = at

    def read(self, offset: int, size: int = 1 << 20) -> Chunk:
        """Return what is there from ``offset`` on, at most ``size`` bytes; maybe nothing.

        A negative offset counts from the end.
        """
        segments = self._segments()
        if offset < 0:
            offset = max(0, self._end(segments) + offset)
        for start, length in segments:
            if offset < start + length:
                begin = max(start, offset)
                data = self._carrier.read(self._name(start), begin - start, size)
                return Chunk(begin, data, skipped=begin - offset)
        return Chunk(offset, b"")

    def end(self) -> int:
        return self._end(self._segments())

    def marks(self) -> Sequence[tuple[int, float]]:
        """Return pairs of offset and the Unix time at which the byte there was written."""
        data = self._carrier.get(self._at + "log.marks.json")
        return [] if data is None else [(int(at), float(when)) for at, when in json.loads(data)]

    def _segments(self) -> list[tuple[int, int]]:
        names = self._carrier.names(self._at + "log/")
        return [(int(name.rsplit("/", 1)[1]), size) for name, size in names]

    @staticmethod
    def _end(segments: list[tuple[int, int]]) -> int:
        return sum(segments[-1]) if segments else 0

    def _name(self, start: int) -> str:
        return f"{self._at}log/{start:020d}"
