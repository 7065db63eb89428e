"""The log of a job: lines of all its tasks, merged by time.

A cursor holds an attempt and the offset of the next byte of every task. A client that keeps it
can continue after any crash without losing output. Progress bars (``\r``) are folded to their
last state. The output of a retry follows that of the attempt before it.
"""

import bisect
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from danlu.errors import NotFound, Refused
from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.status import Line, Lines
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.taskdir.log import Chunk, LogReader

_BATCH = 256 << 10
_MAX_TAIL = 32 << 20  # bytes before the end that are searched for a tail
_MAX_TEXT = 8 << 20  # characters of a tail: lines may have megabytes each
_MAX_LINE = 64 << 10  # bytes; a longer line is returned in pieces


@dataclass(frozen=True)
class _Timed:
    at: float
    task: str
    offset: int
    text: str


class LogView:
    """Reader of job logs; ``require_local`` raises if another server has the output of a job."""

    def __init__(
        self,
        records: Records,
        executor: Executor,
        require_local: Callable[[Job], None] = lambda job: None,
    ) -> None:
        self._records = records
        self._executor = executor
        self._must_be_here = require_local

    def lines(
        self,
        reference: str,
        *,
        cursor: str,
        attempt: int | None,
        tasks: Sequence[str],
        tail: int | None,
    ) -> Lines:
        # Read the state before the logs: if the job has ended here, the logs are complete.
        job = self._records.get(reference)
        self._must_be_here(job)
        current, offsets = _parse(cursor) if cursor else (attempt or _first(job, tail), {})
        last = attempt is not None or current >= job.attempt
        closed = job.state.final or current < job.attempt
        found: list[_Timed] = []
        partial: dict[str, str] = {}
        drained = True
        for task in self._tasks(job, current, tasks):
            reader = self._executor.files(job.id, current, task).log_reader()
            if tail is None or cursor:
                batch = _read(reader, task, offsets.get(task, 0), closed=closed)
            else:
                batch = _read_tail(reader, task, tail, closed=closed)
            found += batch.lines
            offsets[task] = batch.next
            drained = drained and batch.drained
            if batch.partial:
                partial[task] = batch.partial
        found.sort(key=lambda line: (line.at, line.task, line.offset))
        if tail is not None and not cursor:
            found = found[-tail:] if tail else []
        if closed and drained and not last:
            current, offsets = current + 1, {}
        return Lines(
            lines=tuple(Line(line.task, line.text) for line in found),
            cursor=json.dumps([current, offsets], separators=(",", ":")),
            ended=closed and drained and last,
            attempt=current,
            partial=partial,
        )

    def raw(self, reference: str, task: str, *, attempt: int | None, offset: int) -> Chunk:
        job = self._records.get(reference)
        self._must_be_here(job)
        (name,) = self._tasks(job, attempt or job.attempt, [task])
        return self._executor.files(job.id, attempt or job.attempt, name).log_reader().read(offset)

    def _tasks(self, job: Job, attempt: int, wanted: Sequence[str]) -> Sequence[str]:
        if not 1 <= attempt <= job.attempt:
            raise no_attempt(job, attempt)
        known = [task.name for task in job.plan]
        for name in wanted:
            if known and name not in known:
                raise NotFound("task", name, known=known)
        return wanted or known


def no_attempt(job: Job, attempt: int) -> NotFound:
    return NotFound(
        "attempt",
        str(attempt),
        hint=get_message("job.attempts", name=job.name, attempts=job.attempt),
    )


@dataclass(frozen=True)
class _Batch:
    lines: list[_Timed]
    next: int
    drained: bool
    partial: str = ""


def _read(reader: LogReader, task: str, start: int, *, closed: bool) -> _Batch:
    # Get the end before reading: later output must not cause a line break.
    end = reader.end()
    chunk = _gather(reader, start)
    if not chunk.data:
        return _Batch([], chunk.next, drained=True)
    at_end = chunk.next >= end
    # The last line ends at a gap, and at the end of a batch without any newline.
    broken = not at_end and (b"\n" not in chunk.data or len(chunk.data) < _BATCH)
    data = _whole_characters(chunk.data) if broken and len(chunk.data) >= _BATCH else chunk.data
    body, rest = _split(data, whole=broken or (closed and at_end))
    clock = _Clock(reader)
    lines = []
    if chunk.skipped:
        gap = f"[danlu] {get_message('log.dropped', count=chunk.skipped)}"
        lines.append(_Timed(clock.at(chunk.start), task, chunk.start - 1, gap))
    offset = chunk.start
    for piece in body:
        lines.append(_Timed(clock.at(offset), task, offset, fold(piece)))
        offset += len(piece)
    return _Batch(lines, offset, drained=at_end and not rest, partial=fold(rest))


def _read_tail(reader: LogReader, task: str, count: int, *, closed: bool) -> _Batch:
    """Read the last ``count`` lines, and an unfinished line after them."""
    lines: deque[_Timed] = deque()
    size = 0
    start = _tail_start(reader, count)
    while True:
        batch = _read(reader, task, start, closed=closed)
        for line in batch.lines:
            lines.append(line)
            size += len(line.text)
            while len(lines) > count or size > _MAX_TEXT:
                size -= len(lines.popleft().text)
        if batch.drained or batch.next == start:
            return replace(batch, lines=list(lines))
        start = batch.next


def _tail_start(reader: LogReader, count: int) -> int:
    """Return the offset of the last ``count`` lines, at most ``_MAX_TAIL`` before the end.

    The log is searched backwards in batches. None of them is kept, because a line may have any
    length.
    """
    end = reader.end()
    wanted = count + 1  # newlines, including the one before the first line
    first = end  # offset after the earliest newline found
    for chunk in _backwards(reader, end):
        found = chunk.data.count(b"\n")
        if found >= wanted:
            return chunk.start + _nth_from_end(chunk.data, wanted) + 1
        wanted -= found
        first = chunk.start + chunk.data.find(b"\n") + 1 if found else first
    if end <= _MAX_TAIL:
        return 0
    # Skip the end of the line that begins before the searched range.
    return first if first < end else end - _MAX_TAIL


def _backwards(reader: LogReader, end: int) -> Iterator[Chunk]:
    """Yield chunks before ``end``, the last one first, back to ``_MAX_TAIL`` bytes."""
    furthest = max(0, end - _MAX_TAIL)
    while end > furthest:
        start = at = max(furthest, end - _BATCH)
        pieces = []
        while at < end and (chunk := reader.read(at, end - at)).data and chunk.start < end:
            pieces.append(chunk)
            at = chunk.next
        yield from reversed(pieces)
        end = start


def _nth_from_end(data: bytes, count: int) -> int:
    at = len(data)
    for _ in range(count):
        at = data.rfind(b"\n", 0, at)
    return at


def _gather(reader: LogReader, start: int) -> Chunk:
    """Read across log segments, up to ``_BATCH`` bytes or a gap."""
    first = reader.read(start, _BATCH)
    pieces, size = [first.data], len(first.data)
    while 0 < size < _BATCH:
        more = reader.read(first.start + size, _BATCH - size)
        if not more.data or more.skipped:
            break
        pieces.append(more.data)
        size += len(more.data)
    return Chunk(first.start, b"".join(pieces), first.skipped)


def _split(data: bytes, *, whole: bool) -> tuple[list[bytes], bytes]:
    """Return complete lines, and the rest of an unfinished line.

    ``whole``: also return the unfinished line as a line.
    """
    pieces = _by_newline(data)
    if not pieces or pieces[-1].endswith(b"\n") or whole:
        return pieces, b""
    rest = pieces.pop()
    if len(rest) > _MAX_LINE:
        # A progress bar without newlines, or a line of megabytes: return it in pieces.
        cut = rest.rfind(b"\r") + 1 or len(rest)
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return pieces, rest


def _by_newline(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _whole_characters(data: bytes) -> bytes:
    """Return the data without an incomplete UTF-8 character at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
    return data


def fold(line: bytes) -> str:
    """Return a line as text, with only the last state of a progress bar."""
    shown = line.rstrip(b"\r\n")
    return shown[shown.rfind(b"\r") + 1 :].decode("utf-8", "replace")


class _Clock:
    """Lookup of the time at which a byte was written, as precise as the timestamp index."""

    def __init__(self, reader: LogReader) -> None:
        marks = reader.marks()
        self._offsets = [offset for offset, _ in marks]
        self._times = [when for _, when in marks]

    def at(self, offset: int) -> float:
        index = bisect.bisect_right(self._offsets, offset) - 1
        return self._times[index] if index >= 0 else 0.0


def _first(job: Job, tail: int | None) -> int:
    return 1 if tail is None else job.attempt


def _parse(cursor: str) -> tuple[int, dict[str, int]]:
    try:
        attempt, offsets = json.loads(cursor)
        return int(attempt), {str(task): int(offset) for task, offset in offsets.items()}
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise Refused.from_key("job.bad_cursor", cursor=cursor[:100]) from None
