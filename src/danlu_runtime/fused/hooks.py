"""When TensorFlow's own hooks next do something, and how to let them miss steps before that.

A hook that is not known looks at every step.
"""

import time
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.training import basic_session_run_hooks as known

NEVER = 1 << 62  # runs


def runs_until_due(hook: Any, step: int) -> int:
    """Return with how many runs from now a hook has something to do; 1: with the next one.

    ``step`` is the global step before the next run, which adds one to it.
    """
    if _sees_no_runs(hook) or _is(hook, known.NanTensorHook):
        return NEVER  # a loss that is no number stays so: it is seen with the next run
    if _is(hook, known.LoggingTensorHook):
        return _until(hook._timer, hook._iter_count)
    if _is(hook, known.SummarySaverHook):
        return 1 if hook._next_step is None else _until(hook._timer, hook._next_step)
    if _is(hook, known.CheckpointSaverHook) or _is(hook, known.StepCounterHook):
        return _until(hook._timer, step + 1)
    if _is(hook, known.StopAtStepHook):
        return 1 if hook._last_step is None else max(1, hook._last_step - step)
    return 1


def sees_every_run(hook: Any) -> bool:
    """Tell whether no run can be made without it."""
    kinds = (
        known.NanTensorHook,
        known.LoggingTensorHook,
        known.SummarySaverHook,
        known.CheckpointSaverHook,
        known.StepCounterHook,
        known.StopAtStepHook,
    )
    return not _sees_no_runs(hook) and not any(_is(hook, kind) for kind in kinds)


def wanted_of(hook: Any) -> list[Any]:
    """Return what a known hook may fetch beside the step."""
    if _is(hook, known.LoggingTensorHook):
        return list(hook._current_tensors.values())
    if _is(hook, known.SummarySaverHook):
        return list(hook._get_summary_op() or [])
    return []


def miss(hook: Any, runs: int) -> None:
    """Tell a hook of runs that it was not asked about; those that count runs go on counting."""
    if _is(hook, known.LoggingTensorHook):
        hook._iter_count += runs
    elif _is(hook, known.SummarySaverHook) and hook._next_step is not None:
        hook._next_step += runs


def _is(hook: Any, kind: Any) -> bool:
    """Tell whether a hook does what its kind does; a subclass may do more."""
    mine = type(hook)
    return isinstance(hook, kind) and all(
        getattr(mine, name) is getattr(kind, name) for name in ("before_run", "after_run")
    )


def _sees_no_runs(hook: Any) -> bool:
    nothing = tf.train.SessionRunHook
    mine = type(hook)
    return mine.before_run is nothing.before_run and mine.after_run is nothing.after_run


def _until(timer: Any, count: int) -> int:
    """Return with how many runs a timer goes off; ``count`` is what it gets with the next one."""
    if isinstance(timer, known.NeverTriggerTimer):
        return NEVER
    last = timer.last_triggered_step()
    if last is None:
        return 1
    if timer._every_secs is not None:
        return 1 if time.time() >= timer._last_triggered_time + timer._every_secs else NEVER
    return int(max(1, last + timer._every_steps - count + 1))
