"""The points of one curve in bounded room."""

import math
from dataclasses import dataclass

_KEPT = 4  # points that are never left out, beside the first


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    time: float
    value: float


class Series:
    """Every ``n``-th point, ``n`` doubled whenever there are ``most``; and those that matter."""

    def __init__(self, most: int) -> None:
        self._most = max(most - _KEPT, 2)
        self._stride = 1
        self._passed = 0  # since the last point that was kept by its turn
        self._points: list[Point] = []
        self._last: Point | None = None
        self._least: Point | None = None
        self._greatest: Point | None = None
        self._broken: Point | None = None  # the first that is no number

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
        """Forget what was made from ``step`` on: a training that began again makes it anew."""
        left = [point for point in self.points() if point.step < step]
        self._points = [point for point in self._points if point.step < step]
        self._passed = 0
        self._last = left[-1] if left else None
        self._least = self._greatest = self._broken = None
        for point in left:
            self._note(point)

    def points(self) -> list[Point]:
        """Return what is kept, in the order it came."""
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
