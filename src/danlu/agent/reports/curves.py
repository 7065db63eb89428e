"""Reads curves from the event files that TensorFlow writes, without TensorFlow.

The agent starts this module as a process (``python -m danlu.agent.reports.curves``) when its script
has written an event file. The reader imports NumPy, which an agent must not do. A request is one
line of JSON, a list of pairs of run and path. The answer is one line of JSON. It holds the curves
as the task directory stores them, or ``null`` if nothing is new. The process exits when its
standard input is closed.
"""

import contextlib
import json
import logging
import math
import os
import resource
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO

from danlu.job import status
from danlu.job.wire import to_wire

_HEAD, _SUM = struct.Struct("<QI"), struct.Struct("<I")
_CHECKED = 1 << 20  # bytes; tensorboard's checksum is in Python and takes seconds for a few MB
_READ = 64 << 20  # bytes; a larger record is a graph and holds no numbers


class RecordReader:
    """The records of an event file. Each call of :meth:`read` continues where the last one ended.

    An incomplete record at the end is read when it is complete. A damaged record ends the reading.
    A large record is skipped unread. A program may have its whole data set in its graph, and the
    graph in its event files.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0  # where the next record begins

    def read(self) -> Iterator[bytes]:
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            while (length := _length(file, self._at)) is not None:
                end = self._at + _HEAD.size + length + _SUM.size
                if end > size:
                    return
                record = file.read(length) if length <= _READ else b""
                if length <= _CHECKED and _sum(record) != _SUM.unpack(file.read(_SUM.size))[0]:
                    return
                self._at = end
                if record:
                    yield record


def _length(file: BinaryIO, at: int) -> int | None:
    """Return the length of the record at this offset, or None if there is none."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack(head)
    return int(length) if _sum(head[:8]) == checksum else None


def _sum(data: bytes) -> int:
    from tensorboard.compat.tensorflow_stub import pywrap_tensorflow

    return int(pywrap_tensorflow.masked_crc32c(data))


log = logging.getLogger(__name__)

_SCALARS = "scalars"


@dataclass(frozen=True)
class Scalar:
    tag: str
    step: int
    time: float
    value: float


@dataclass(frozen=True)
class Restart:
    """A training that started at ``step``. Values of an earlier one from there on are void."""

    step: int


class EventFileReader:
    """The scalars of an event file. Each :meth:`read` continues where the last one ended."""

    def __init__(self, path: str) -> None:
        _without_tensorflow()
        self._records = RecordReader(path)
        self._tensors: set[str] = set()  # tags of tensors that are scalars

    def read(self) -> Iterator[Scalar | Restart]:
        from google.protobuf.message import DecodeError

        for record in self._records.read():
            try:
                event = _event().FromString(record)
            except DecodeError as error:  # despite a correct checksum
                log.warning("event passed over error=%s", error)
                continue
            yield from self._values(event)

    def _values(self, event: Any) -> Iterator[Scalar | Restart]:
        # 1: SessionLog.START
        if event.HasField("session_log") and event.session_log.status == 1:
            yield Restart(event.step)
        if not event.HasField("summary"):
            return
        for value in event.summary.value:
            number = self._number(value)
            if number is not None:
                yield Scalar(value.tag, event.step, event.wall_time, number)

    def _number(self, value: Any) -> float | None:
        if value.HasField("simple_value"):
            return float(value.simple_value)
        if not value.HasField("tensor"):
            return None
        if value.metadata.plugin_data.plugin_name == _SCALARS:
            # Only the first value of a tag names the plugin.
            self._tensors.add(value.tag)
        return _scalar(value.tensor) if value.tag in self._tensors else None


def _scalar(tensor: Any) -> float | None:
    from tensorboard.util import tensor_util

    try:
        found = tensor_util.make_ndarray(tensor)
        return float(found.item()) if found.size == 1 else None
    except (TypeError, ValueError):
        return None


def _event() -> Any:
    from tensorboard.compat.proto import event_pb2

    return event_pb2.Event


def _without_tensorflow() -> None:
    """Make tensorboard use its own stub instead of TensorFlow, which takes 600 MB."""
    # tensorboard 2.20: tensorboard/compat/__init__.py looks for a module of this name.
    name = "tensorboard.compat.notf"
    sys.modules.setdefault(name, ModuleType(name))


_KEPT = 4  # points that are never left out, beside the first


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    time: float
    value: float


class Series:
    """A curve reduced to at most ``most`` points.

    It keeps every ``n``-th point. ``n`` is doubled whenever there are too many. The lowest, the
    highest, the last and the first non-finite point are always kept.
    """

    def __init__(self, most: int) -> None:
        self._most = max(most - _KEPT, 2)
        self._stride = 1
        self._passed = 0  # points since the last regular one
        self._points: list[Point] = []
        self._last: Point | None = None
        self._least: Point | None = None
        self._greatest: Point | None = None
        self._broken: Point | None = None  # the first that is not finite

    @property
    def last(self) -> Point | None:
        return self._last

    def add(self, point: Point) -> None:
        self._last = point
        self._note(point)
        self._passed += 1
        if self._points and self._passed < self._stride:
            return
        self._passed = 0
        self._points.append(point)
        if len(self._points) > self._most:
            self._points = self._points[::2]
            self._stride *= 2

    def cut(self, step: int) -> None:
        """Remove the points from ``step`` on. A restarted training writes them again."""
        left = [point for point in self.points() if point.step < step]
        self._points = [point for point in self._points if point.step < step]
        self._passed = 0
        self._last = left[-1] if left else None
        self._least = self._greatest = self._broken = None
        for point in left:
            self._note(point)

    def points(self) -> list[Point]:
        """Return the kept points in the order in which they were added."""
        special = (self._least, self._greatest, self._broken, self._last)
        found = {id(point): point for point in (*self._points, *special) if point is not None}
        if self._points and len(found) == len(self._points):
            return list(self._points)
        return sorted(found.values(), key=lambda point: (point.time, point.step))

    def _note(self, point: Point) -> None:
        if not math.isfinite(point.value):
            self._broken = self._broken or point
            return
        if self._least is None or point.value < self._least.value:
            self._least = point
        if self._greatest is None or point.value > self._greatest.value:
            self._greatest = point


_MAX_TAG = 300  # characters of a tag


class Collection:
    """The curves in a set of event files. Not thread-safe."""

    def __init__(self, most: int = status.MAX_CURVES, points: int = status.POINTS) -> None:
        self._most = most
        self._points = points
        self._files: dict[str, EventFileReader] = {}
        self._series: dict[tuple[str, str], Series] = {}
        self._seen: set[tuple[str, str]] = set()  # file and tag
        self._left_out: set[tuple[str, str]] = set()

    def read(self, files: Iterable[tuple[str, str]]) -> bool:
        """Read new values of ``files``, pairs of run and path. Return True if there were any."""
        changed = False
        for run, path in files:
            try:
                if path not in self._files:
                    self._files[path] = EventFileReader(path)
                for item in self._files[path].read():
                    changed = True
                    self._take(run, path, item)
            except OSError as error:
                log.warning("file passed over path=%s error=%s", path, error)
        return changed

    def curves(self) -> status.Curves:
        most = status.ALL_POINTS // max(len(self._series), 1)
        found = [
            status.Curve(run, tag, tuple(map(_to_model, _thinned(series.points(), most))))
            for (run, tag), series in sorted(self._series.items())
        ]
        return status.Curves(tuple(found), len(self._left_out))

    def _take(self, run: str, path: str, item: Scalar | Restart) -> None:
        if isinstance(item, Restart):
            for (other, _), series in self._series.items():
                if other == run:
                    series.cut(item.step)
            return
        found = self._series_of(run, item.tag)
        if found is None:
            return
        if (path, item.tag) not in self._seen:
            self._seen.add((path, item.tag))
            _begin_again(found, item)
        found.add(Point(item.step, item.time, item.value))

    def _series_of(self, run: str, tag: str) -> Series | None:
        key = (run, tag)
        if key not in self._series:
            if len(self._series) >= self._most or len(tag) > _MAX_TAG:
                if len(self._left_out) < 10 * self._most:
                    self._left_out.add(key)
                return None
            self._series[key] = Series(self._points)
        return self._series[key]


def _begin_again(series: Series, item: Scalar) -> None:
    """Cut the series if a later file starts at an earlier step.

    Such a file belongs to a training that was resumed.
    """
    last = series.last
    if last is not None and item.step <= last.step and item.time > last.time:
        series.cut(item.step)


def _thinned(points: list[Point], most: int) -> list[Point]:
    if len(points) <= most:
        return points
    series = Series(most)
    for point in points:
        series.add(point)
    return series.points()


def _to_model(point: Point) -> status.Point:
    if math.isfinite(point.value):
        return (point.step, point.time, point.value)
    word = "NaN" if math.isnan(point.value) else f"{'-' if point.value < 0 else ''}Infinity"
    return (point.step, point.time, word)


_MEMORY = 4 << 30  # bytes; an event file of a script may hold anything
_NICE = 10


def main() -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    with contextlib.suppress(OSError):
        os.nice(_NICE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    collection = Collection()
    for line in sys.stdin:
        changed = collection.read((str(run), str(path)) for run, path in json.loads(line))
        print(json.dumps(to_wire(collection.curves()) if changed else None), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
