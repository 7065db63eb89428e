import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from danlu.agent.reports.curves import Point, Series


def _series(values, most=20):
    series = Series(most)
    for step, value in enumerate(values):
        series.add(Point(step, float(step), value))
    return series


@given(st.lists(st.floats(), max_size=500))
def test_important_points_are_kept_in_bounded_memory(values):
    points = _series(values).points()

    kept = [point.value for point in points]
    numbers = [value for value in values if math.isfinite(value)]
    assert len(points) <= 20
    assert [point.step for point in points] == sorted({point.step for point in points})
    assert repr(kept[:1] + kept[-1:]) == repr(values[:1] + values[-1:])
    if numbers:
        assert min(numbers) in kept
        assert max(numbers) in kept
    broken = next((step for step, value in enumerate(values) if not math.isfinite(value)), None)
    assert broken is None or broken in [point.step for point in points]


def test_a_short_curve_is_kept_whole():
    values = [3.0, 1.0, 2.0]

    assert [point.value for point in _series(values).points()] == values


def test_points_of_a_long_curve_are_evenly():
    steps = [point.step for point in _series([1.0] * 1000).points()]

    assert {after - before for before, after in itertools.pairwise(steps[:-1])} == {64}


def test_what_is_cut_is_forgotten_with_its_extremes():
    series = _series([5.0, 4.0, 9.0, math.nan, 1.0])
    series.cut(2)
    series.add(Point(2, 10.0, 4.5))

    assert [(point.step, point.value) for point in series.points()] == [
        (0, 5.0),
        (1, 4.0),
        (2, 4.5),
    ]
