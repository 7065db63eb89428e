"""Compiled steps are kept where they are faster."""

from typing import Any

import pytest


@pytest.fixture
def trial(tf: Any) -> Any:
    if tf is None:
        return None  # the test is run elsewhere, and TensorFlow is not needed here
    from danlu_runtime.fused.refusals import XlaBenchmark

    return XlaBenchmark()


def _measured(trial: Any, with_xla: float, without: float) -> str | None:
    reason = None
    for _ in range(20):
        first = with_xla if trial.compiles else without
        steps = trial.limit(100)
        reason = trial.took(steps, first * steps) or reason
    return reason


def test_faster_programs_are_kept(trial: Any) -> None:
    reason = _measured(trial, with_xla=0.001, without=0.002)

    assert trial.is_over
    assert trial.compiles
    assert reason is None


def test_slower_programs_are_skipped_and_times_are_reported(trial: Any) -> None:
    reason = _measured(trial, with_xla=2.25, without=0.075)

    assert not trial.compiles
    assert reason == "a step takes 2.25e+03 ms with it and 75 ms without it"


def test_nearly_equal_programs_run_as_requested(trial: Any) -> None:
    _measured(trial, with_xla=0.001, without=0.0008)

    assert trial.compiles


def test_first_call_of_each_way_does_not_count(trial: Any) -> None:
    """A program is compiled in it."""
    for seconds in (60.0, 1.0, 1.0, 1.0, 60.0, 3.0, 3.0, 3.0):
        assert trial.took(2, seconds) is None

    assert trial.is_over
    assert trial.compiles


def test_single_step_is_no_measurement(trial: Any) -> None:
    for _ in range(20):
        assert trial.took(1, 1.0) is None

    assert not trial.is_over


@pytest.mark.parametrize("steps", [2, 100])
def test_calls_are_short_until_it_is_over(trial: Any, steps: int) -> None:
    assert trial.limit(steps) == min(steps, 8)
    _measured(trial, with_xla=0.001, without=0.002)

    assert trial.limit(steps) == steps
