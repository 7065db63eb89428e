"""The log of a task: segments named by byte offset.

The only state of a reader is the offset of the next byte. Bytes within a segment never change.
If the store cannot append, the newest segment is replaced by a longer one. Beyond the size limit,
whole segments between the first and the newest are removed. A reader that reaches the gap receives
the number of skipped bytes.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from danlu.taskdir.job_files import JobFileStore

SEGMENT = 8 << 20
STORED_SEGMENT = 1 << 20  # smaller, because every flush sends the whole newest segment
_MARKS = 2048


@dataclass(frozen=True)
class Chunk:
    """Log data at offset ``start``. ``skipped`` bytes before it were removed."""

    start: int
    data: bytes
    skipped: int = 0

    @property
    def next(self) -> int:
        return self.start + len(self.data)


@dataclass
class _Segment:
    start: int
    size: int = 0


class LogWriter:
    """Writer of the log of one task.

    Not thread-safe. Only one thread may call :meth:`write` and :meth:`flush`.
    """

    def __init__(
        self,
        store: JobFileStore,
        at: str,
        *,
        limit: int,
        segment: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._at = at
        self._segment = segment or (SEGMENT if store.can_append else STORED_SEGMENT)
        self._limit = limit
        self._clock = clock
        self._kept: list[_Segment] = []
        self._end = 0
        self._newest = bytearray()  # the newest segment, if the store cannot append
        self._is_sent = True
        self._marks: list[tuple[int, float]] = []
        self._new_marks = False
        self._interval = 1.0

    @property
    def end(self) -> int:
        return self._end

    @property
    def prompt(self) -> bool:
        """Whether written data is readable at once and :meth:`flush` is cheap."""
        return self._store.can_append

    def write(self, data: bytes) -> None:
        if data:
            self._mark()
        rest = memoryview(data)
        while rest:
            if not self._kept or self._kept[-1].size >= self._segment:
                self._open()
            left = self._segment - self._kept[-1].size
            self._add(rest[:left])
            rest = rest[left:]

    def flush(self) -> None:
        """Make everything written so far readable."""
        self._send()
        if self._new_marks:
            self._store.put(self._at + "log.marks.json", json.dumps(self._marks).encode())
            self._new_marks = False

    def _open(self) -> None:
        self._send()
        self._newest.clear()
        self._kept.append(_Segment(self._end))

    def _add(self, data: memoryview) -> None:
        segment = self._kept[-1]
        if self._store.can_append:
            self._store.append(self._name(segment.start), bytes(data))
        else:
            self._newest += data
            self._is_sent = False
        segment.size += len(data)
        self._end += len(data)
        # Keep the first segment for the start of the job and the newest for its end.
        while len(self._kept) > 2 and sum(kept.size for kept in self._kept) > self._limit:
            self._store.remove(self._name(self._kept.pop(1).start))

    def _send(self) -> None:
        if not self._is_sent:
            self._store.put(self._name(self._kept[-1].start), bytes(self._newest))
            self._is_sent = True

    def _mark(self) -> None:
        now = self._clock()
        if self._marks and now - self._marks[-1][1] < self._interval:
            return
        self._marks.append((self._end, now))
        self._new_marks = True
        if len(self._marks) > _MARKS:
            self._marks = self._marks[::2]
            self._interval *= 2

    def _name(self, start: int) -> str:
        return f"{self._at}log/{start:020d}"


class LogReader:
    def __init__(self, store: JobFileStore, at: str) -> None:
        self._store = store
        self._at = at

    def read(self, offset: int, size: int = 1 << 20) -> Chunk:
        """Return the data from ``offset`` on, at most ``size`` bytes. It may be empty.

        A negative offset counts from the end.
        """
        segments = self._segments()
        if offset < 0:
            offset = max(0, self._end(segments) + offset)
        for start, length in segments:
            if offset < start + length:
                begin = max(start, offset)
                data = self._store.read(self._name(start), begin - start, size)
                return Chunk(begin, data, skipped=begin - offset)
        return Chunk(offset, b"")

    def end(self) -> int:
        return self._end(self._segments())

    def marks(self) -> Sequence[tuple[int, float]]:
        """Return the timestamp index: pairs of an offset and the Unix time of its write."""
        data = self._store.get(self._at + "log.marks.json")
        return [] if data is None else [(int(at), float(when)) for at, when in json.loads(data)]

    def _segments(self) -> list[tuple[int, int]]:
        names = self._store.names(self._at + "log/")
        return [(int(name.rsplit("/", 1)[1]), size) for name, size in names]

    @staticmethod
    def _end(segments: list[tuple[int, int]]) -> int:
        return sum(segments[-1]) if segments else 0

    def _name(self, start: int) -> str:
        return f"{self._at}log/{start:020d}"
