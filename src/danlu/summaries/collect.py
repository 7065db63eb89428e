"""All curves of a task, gathered from its event files again and again."""

import logging
import math
from collections.abc import Iterable

from danlu.job import curves as model
from danlu.summaries.events import EventFile, Restart, Scalar
from danlu.summaries.series import Point, Series

log = logging.getLogger(__name__)

_LONGEST = 300  # letters of a tag


class Collection:
    """Not for several threads."""

    def __init__(self, most: int = model.MOST, points: int = model.POINTS) -> None:
        self._most = most
        self._points = points
        self._files: dict[str, EventFile] = {}
        self._series: dict[tuple[str, str], Series] = {}
        self._seen: set[tuple[str, str]] = set()  # file and tag
        self._left_out: set[tuple[str, str]] = set()

    def read(self, files: Iterable[tuple[str, str]]) -> bool:
        """Take in what is new in ``files``, pairs of run and path; tell whether there was."""
        changed = False
        for run, path in files:
            try:
                if path not in self._files:
                    self._files[path] = EventFile(path)
                for told in self._files[path].read():
                    changed = True
                    self._take(run, path, told)
            except OSError as error:
                log.warning("file passed over path=%s error=%s", path, error)
        return changed

    def curves(self) -> model.Curves:
        room = model.ALL_POINTS // max(len(self._series), 1)
        found = [
            model.Curve(run, tag, tuple(map(_told, _thinned(series.points(), room))))
            for (run, tag), series in sorted(self._series.items())
        ]
        return model.Curves(tuple(found), len(self._left_out))

    def _take(self, run: str, path: str, told: Scalar | Restart) -> None:
        if isinstance(told, Restart):
            for (other, _), series in self._series.items():
                if other == run:
                    series.cut(told.step)
            return
        found = self._series_of(run, told.tag)
        if found is None:
            return
        if (path, told.tag) not in self._seen:
            self._seen.add((path, told.tag))
            _begin_again(found, told)
        found.add(Point(told.step, told.time, told.value))

    def _series_of(self, run: str, tag: str) -> Series | None:
        key = (run, tag)
        if key not in self._series:
            if len(self._series) >= self._most or len(tag) > _LONGEST:
                if len(self._left_out) < 10 * self._most:
                    self._left_out.add(key)
                return None
            self._series[key] = Series(self._points)
        return self._series[key]


def _begin_again(series: Series, told: Scalar) -> None:
    """A later file that begins at an earlier step is that of a training that was resumed."""
    last = series.last
    if last is not None and told.step <= last.step and told.time > last.time:
        series.cut(told.step)


def _thinned(points: list[Point], room: int) -> list[Point]:
    if len(points) <= room:
        return points
    series = Series(room)
    for point in points:
        series.add(point)
    return series.points()


def _told(point: Point) -> model.Point:
    if math.isfinite(point.value):
        return (point.step, point.time, point.value)
    word = "NaN" if math.isnan(point.value) else f"{'-' if point.value < 0 else ''}Infinity"
    return (point.step, point.time, word)
