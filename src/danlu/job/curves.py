"""The curves of a job: numbers its script has written as summaries, by run and tag."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

MOST = 200  # curves of one task
POINTS = 1000  # of one curve
ALL_POINTS = 60_000  # of all curves of one task together

# Step, Unix time, value. JSON has no number for 'NaN', 'Infinity' and '-Infinity'.
Point = tuple[int, float, float | str]


@dataclass(frozen=True)
class Curve:
    """``run``: the folder below an output its file lies in, '.' for the output itself.

    Of long curves some points are left out, never the first, the last, the smallest, the largest
    and the first that is no number.
    """

    run: str
    tag: str
    points: tuple[Point, ...]
    task: str = ""


@dataclass(frozen=True)
class Curves:
    """``left_out``: how many more curves there were."""

    curves: tuple[Curve, ...] = ()
    left_out: int = 0


def merged(told: Iterable[tuple[str, Curves]]) -> Curves:
    """Return the curves of several tasks, each with the name of its task."""
    curves: list[Curve] = []
    left_out = 0
    for task, found in told:
        curves += [replace(curve, task=task) for curve in found.curves]
        left_out += found.left_out
    return Curves(tuple(curves), left_out)
