"""Curves as text: a row each, with its ends, its extremes and its shape."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.cli.layout import table
from danlu.words import say

View = Mapping[str, Any]
Paint = Callable[[str, str], str]

BARS = "▁▂▃▄▅▆▇█"
_CELLS = 24
_COLUMNS = ("run", "tag", "first", "last", "min", "max", "steps")


def report(view: View, paint: Paint) -> list[str]:
    """Return the lines of ``danlu show --curves``."""
    curves = view["curves"]
    if not curves:
        return [say("curves.none" if view["ended"] else "curves.none_yet")]
    several = len({curve["task"] for curve in curves}) > 1
    names = ("task", *_COLUMNS) if several else _COLUMNS
    rows = [[*(paint(say(f"curves.{name}"), "bold") for name in names), ""]]
    for curve in curves:
        row = [curve["run"], curve["tag"], *_numbers(curve["points"]), spark(curve["points"])]
        rows.append([curve["task"], *row] if several else row)
    lines = table(rows)
    if view["left_out"]:
        lines += ["", say("curves.left_out", count=view["left_out"])]
    return lines


def _numbers(points: Sequence[Sequence[Any]]) -> list[str]:
    values = [value for _, _, value in points]
    finite = [value for value in values if not isinstance(value, str)] or ["-"]
    least, greatest = (finite[0], finite[0]) if finite == ["-"] else (min(finite), max(finite))
    steps = f"{points[0][0]}-{points[-1][0]}"
    return [*map(_number, (values[0], values[-1], least, greatest)), steps]


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def spark(points: Sequence[Sequence[Any]], cells: int = _CELLS) -> str:
    """Return the shape of a curve over its steps; a cell without a number is a cross."""
    first, last = points[0][0], points[-1][0]
    width = max((last - first) / min(cells, len(points)), 1e-9)
    gathered: list[list[float]] = [[] for _ in range(min(cells, len(points)))]
    broken = set()
    for step, _, value in points:
        at = min(max(int((step - first) / width), 0), len(gathered) - 1)
        if isinstance(value, str):
            broken.add(at)
        else:
            gathered[at].append(value)
    means = [math.fsum(values) / len(values) if values else None for values in gathered]
    return _drawn(means, broken)


def _drawn(means: Sequence[float | None], broken: set[int]) -> str:
    known = [mean for mean in means if mean is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    drawn, before = "", " "
    for at, mean in enumerate(means):
        if mean is not None:
            part = (mean - low) / (high - low) if high > low else 0.0
            before = BARS[min(int(part * len(BARS)), len(BARS) - 1)]
        drawn += "×" if at in broken and mean is None else before
    return drawn
