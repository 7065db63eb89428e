"""The output of a job as people read it: lines of all its tasks, merged by time.

A cursor holds, for the attempt it is in, the offset of the next byte of every task; whoever keeps
it can go on after any crash and loses nothing. Progress bars (``\\r``) are folded to their last
state. A retry follows the attempt before it.
"""

import bisect
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from danlu.errors import NotFound, Refused
from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.output import Line, Lines
from danlu.records.api import Records
from danlu.taskdir.log import Chunk, LogReader

_BATCH = 256 << 10
_LONGEST_TAIL = 32 << 20  # how far back a tail is looked for
_MOST_TEXT = 8 << 20  # characters in a tail: lines of megabytes would be the whole answer
_LONGEST_LINE = 64 << 10  # a longer one is shown in pieces


@dataclass(frozen=True)
class _Timed:
    at: float
    task: str
    offset: int
    text: str


class LogView:
    """``must_be_here`` raises where the output of a job is not here but with another server."""

    def __init__(
        self,
        records: Records,
        executor: Executor,
        must_be_here: Callable[[Job], None] = lambda job: None,
    ) -> None:
        self._records = records
        self._executor = executor
        self._must_be_here = must_be_here

    def lines(
        self,
        reference: str,
        *,
        cursor: str,
        attempt: int | None,
        tasks: Sequence[str],
        tail: int | None,
    ) -> Lines:
        # The state is read before the logs: an end seen here means the logs are complete.
        job = self._records.get(reference)
        self._must_be_here(job)
        current, offsets = _parse(cursor) if cursor else (attempt or _first(job, tail), {})
        last = attempt is not None or current >= job.attempt
        closed = job.state.final or current < job.attempt
        found: list[_Timed] = []
        partial: dict[str, str] = {}
        drained = True
        for task in self._tasks(job, current, tasks):
            reader = self._executor.logs(job.id, current, task)
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
        return self._executor.logs(job.id, attempt or job.attempt, name).read(offset)

    def _tasks(self, job: Job, attempt: int, wanted: Sequence[str]) -> Sequence[str]:
        if not 1 <= attempt <= job.attempt:
            raise no_attempt(job, attempt)
        known = [task.name for task in job.plan]
        for name in wanted:
            if known and name not in known:
                raise NotFound("task", name, known=known)
        return wanted or known


def no_attempt(job: Job, attempt: int) -> NotFound:
    return NotFound("attempt", str(attempt), hint=f"Job {job.name!r} has had {job.attempt} so far.")


@dataclass(frozen=True)
class _Batch:
    lines: list[_Timed]
    next: int
    drained: bool
    partial: str = ""


def _read(reader: LogReader, task: str, start: int, *, closed: bool) -> _Batch:
    chunk = _gather(reader, start)
    if not chunk.data:
        return _Batch([], chunk.next, drained=True)
    at_end = chunk.next >= reader.end()
    # What follows a gap, or a batch without any newline, does not complete this line.
    broken = not at_end and (b"\n" not in chunk.data or len(chunk.data) < _BATCH)
    data = _whole_characters(chunk.data) if broken and len(chunk.data) >= _BATCH else chunk.data
    body, rest = _split(data, whole=broken or (closed and at_end))
    clock = _Clock(reader)
    lines = []
    if chunk.skipped:
        gap = f"[danlu] {chunk.skipped} bytes of output were dropped here (log_limit)"
        lines.append(_Timed(clock.at(chunk.start), task, chunk.start - 1, gap))
    offset = chunk.start
    for piece in body:
        lines.append(_Timed(clock.at(offset), task, offset, fold(piece)))
        offset += len(piece)
    return _Batch(lines, offset, drained=at_end and not rest, partial=fold(rest))


def _read_tail(reader: LogReader, task: str, count: int, *, closed: bool) -> _Batch:
    """Read the last ``count`` lines, and what there may be of an unfinished one."""
    lines: deque[_Timed] = deque()
    size = 0
    start = _tail_start(reader, count)
    while True:
        batch = _read(reader, task, start, closed=closed)
        for line in batch.lines:
            lines.append(line)
            size += len(line.text)
            while len(lines) > count or size > _MOST_TEXT:
                size -= len(lines.popleft().text)
        if batch.drained or batch.next == start:
            return replace(batch, lines=list(lines))
        start = batch.next


def _tail_start(reader: LogReader, count: int) -> int:
    """Return where the last ``count`` lines begin, or as many of them as may be looked at.

    Looked at from the end in pieces, none of which is kept: a line may be of any length.
    """
    end = reader.end()
    wanted = count + 1  # the newline before the first of them
    first = end  # where the first line begins whose newline was seen
    for chunk in _backwards(reader, end):
        found = chunk.data.count(b"\n")
        if found >= wanted:
            return chunk.start + _nth_from_end(chunk.data, wanted) + 1
        wanted -= found
        first = chunk.start + chunk.data.find(b"\n") + 1 if found else first
    if end <= _LONGEST_TAIL:
        return 0
    # What is before the first newline is the end of a line that is not wanted.
    return first if first < end else end - _LONGEST_TAIL


def _backwards(reader: LogReader, end: int) -> Iterator[Chunk]:
    """Give what there is before ``end``, the last piece first, as far back as a tail goes."""
    furthest = max(0, end - _LONGEST_TAIL)
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
    """Read over the ends of segments, up to a batch or to a gap."""
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
    """Return complete lines and what is left of an unfinished one."""
    pieces = _by_newline(data)
    if not pieces or pieces[-1].endswith(b"\n") or whole:
        return pieces, b""
    rest = pieces.pop()
    if len(rest) > _LONGEST_LINE:
        # A bar that never ends its line, or a line of megabytes: give out what there is.
        cut = rest.rfind(b"\r") + 1 or len(rest)
        pieces.append(rest[:cut])
        rest = rest[cut:]
    return pieces, rest


def _by_newline(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    lines = [piece + b"\n" for piece in pieces[:-1]]
    return [*lines, pieces[-1]] if pieces[-1] else lines


def _whole_characters(data: bytes) -> bytes:
    """Return the data without the beginning of a character that is cut off at its end."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
    return data


def fold(line: bytes) -> str:
    """Return a line as a terminal would show it in the end: the last state of a bar."""
    shown = line.rstrip(b"\r\n")
    return shown[shown.rfind(b"\r") + 1 :].decode("utf-8", "replace")


class _Clock:
    """When a byte of a log was written, as near as its marks tell."""

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
        raise Refused(f"A cursor is what an earlier answer gave, got {cursor[:100]!r}.") from None
