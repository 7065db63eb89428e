"""Fused training steps for tf.estimator.

``train`` of an Estimator runs the session once per step and calls its hooks before and after. Most
hooks act only every hundredth step. Here one call makes all steps between. A step at which a hook
is due is run normally, with all hooks. The training result is identical, bit by bit.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.training import basic_session_run_hooks as known
from tensorflow.python.training import monitored_session as sessions
from tensorflow.python.training import training_util

from danlu.errors import Unsupported
from danlu.messages import get_message
from danlu_runtime import steps
from danlu_runtime.fused import refusals
from danlu_runtime.fused.loop import Fused, draws
from danlu_runtime.fused.refusals import why_not
from danlu_runtime.fused.step_values import Substitute
from danlu_runtime.reports.notes import print_message

NEVER = 1 << 62  # runs


def runs_until_due(hook: Any, step: int) -> int:
    """Return the number of runs until a hook acts; 1 means that it acts in the next run.

    ``step`` is the global step before the next run, which adds one to it.
    """
    if _sees_no_runs(hook) or _is(hook, known.NanTensorHook):
        return NEVER  # a NaN loss stays NaN: the hook detects it in its next run
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
    """Return True if a hook must be called for every run."""
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
    """Return the tensors that a known hook may fetch in addition to the step."""
    if _is(hook, known.LoggingTensorHook):
        return list(hook._current_tensors.values())
    if _is(hook, known.SummarySaverHook):
        return list(hook._get_summary_op() or [])
    return []


def miss(hook: Any, runs: int) -> None:
    """Advance the run counters of a hook by the runs for which it was not called."""
    if _is(hook, known.LoggingTensorHook):
        hook._iter_count += runs
    elif _is(hook, known.SummarySaverHook) and hook._next_step is not None:
        hook._next_step += runs


def _is(hook: Any, kind: Any) -> bool:
    """Return True if a hook has the run methods of ``kind``; a subclass may override them."""
    mine = type(hook)
    return isinstance(hook, kind) and all(
        getattr(mine, name) is getattr(kind, name) for name in ("before_run", "after_run")
    )


def _sees_no_runs(hook: Any) -> bool:
    nothing = tf.train.SessionRunHook
    mine = type(hook)
    return mine.before_run is nothing.before_run and mine.after_run is nothing.after_run


def _until(timer: Any, count: int) -> int:
    """Return the number of runs until a timer fires; ``count`` is its count in the next run."""
    if isinstance(timer, known.NeverTriggerTimer):
        return NEVER
    last = timer.last_triggered_step()
    if last is None:
        return 1
    if timer._every_secs is not None:
        return 1 if time.time() >= timer._last_triggered_time + timer._every_secs else NEVER
    return int(max(1, last + timer._every_steps - count + 1))


_MOST = 1000  # steps between two checks of the hooks
_SECONDS = 0.5  # the longest call; between calls training can be stopped and reports progress
_FIRST = 10  # steps of the first call, before the time per step is known
_FEW = 2  # steps of the first call with XLA, which may be slow because it compiles


class Plan:
    """The fused steps of one training graph.

    ``values`` are the tensors of one step, in the order of the loop's values. ``slower`` is called
    with a message if compiled steps turn out to be slower.
    """

    def __init__(
        self,
        specification: Any,
        values: Sequence[tf.Tensor],
        fused: Fused,
        slower: Callable[[str], None],
    ) -> None:
        self._slower = slower
        self._op = specification.train_op
        self._fused = fused
        counter = tf.train.get_global_step()
        self._read = training_util._get_or_create_global_step_read()
        self._substitute = Substitute(self._op, fused.op)
        for value, by in zip(values, fused.values, strict=True):
            self._substitute.add(value, by)
        with tf.control_dependencies([fused.op]):
            before = counter.read_value() - 1  # hooks receive the step at which a run starts
        for element in (counter, counter._as_graph_element(), self._read):
            self._substitute.add(element, before)
        self._pace = _FEW if fused.is_compiled else _FIRST
        self._works: bool | None = None

    def is_step(self, fetches: Any) -> bool:
        """Return True if ``fetches`` is what an Estimator fetches in every step."""
        return isinstance(fetches, list) and len(fetches) == 2 and fetches[0] is self._op

    def run(self, session: Any, single: Callable[[], Any]) -> Any:
        """Run fused steps until a hook is due, then the due step by ``single``, with all hooks."""
        if self._works is None:
            self._works = self._is_possible(session._hooks)
        if not self._works:
            return single()
        ahead = self._runs(session) - 1
        while ahead > 0:
            made = self._call(session._sess, ahead)
            ahead -= made
            for hook in session._hooks:
                miss(hook, made)
        if not self._fused.alone:
            return single()
        with self._substitute.put_into(session._sess, self._fused.feed(1)):
            return single()

    def _call(self, session: Any, ahead: int) -> int:
        """Make some of the remaining steps in one call; return their number."""
        count = self._fused.limit(min(ahead, self._pace))
        began = time.perf_counter()
        session.run(self._fused.op, self._fused.feed(count))
        seconds = time.perf_counter() - began
        fitting = int(_SECONDS * count / max(seconds, 1e-9))
        self._pace = max(_FEW, min(fitting, 2 * self._pace))
        reason = self._fused.took(count, seconds)
        if reason is not None:
            self._slower(reason)
        return count

    def _runs(self, session: Any) -> int:
        step = int(session._sess.run(self._read))
        runs = min((runs_until_due(hook, step) for hook in session._hooks), default=1)
        left = steps.allowance()
        return max(1, min(runs, _MOST, _MOST if left is None else left))

    def _is_possible(self, hooks: Sequence[Any]) -> bool:
        for hook in hooks:
            if sees_every_run(hook):
                print_message(get_message("fused.hook_each", name__=type(hook).__name__))
                return False
            strange = [each for each in wanted_of(hook) if not self._substitute.knows(each)]
            if self._fused.alone and strange:
                print_message(
                    get_message(
                        "fused.hook_value", name__=type(hook).__name__, name=strange[0].name
                    )
                )
                return False
        return True


_COMPILED = 100  # maximum number of steps of one program


@contextmanager
def fused_steps(estimator: Any) -> Iterator[list[tf.train.SessionRunHook]]:
    """Make ``estimator`` train by fused steps; pass the yielded hooks to ``train``.

    If the steps cannot be fused, training is unchanged and a log line gives the reason.
    """
    if estimator.config.train_distribute is not None:
        yield []
        return
    specifications: list[Any] = []
    call, run = estimator._call_model_fn, sessions._HookedSession.run
    plans: dict[Any, Plan] = {}

    def noted(features: Any, labels: Any, mode: str, config: Any) -> Any:
        specification = call(features, labels, mode, config)
        if mode == tf.estimator.ModeKeys.TRAIN:
            specifications[:] = [specification]
        return specification

    def planned(self: Any, fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
        plan = plans.get(self.graph)
        if plan is None or feed_dict or not plan.is_step(fetches):
            return run(self, fetches, feed_dict, *args, **kwargs)
        return plan.run(self, lambda: run(self, fetches, feed_dict, *args, **kwargs))

    hook = _Begins(estimator, specifications, plans)
    estimator._call_model_fn, sessions._HookedSession.run = noted, planned
    try:
        yield [hook]
    finally:
        del estimator._call_model_fn
        sessions._HookedSession.run = run


class _Begins(tf.train.SessionRunHook):
    """Hook that adds the loop to the training graph before the graph is finalized."""

    def __init__(self, estimator: Any, specifications: list[Any], plans: dict[Any, Plan]) -> None:
        self._estimator = estimator
        self._specifications = specifications
        self._plans = plans

    def begin(self) -> None:
        (specification,) = self._specifications
        folder = self._estimator.model_dir
        there = tf.train.latest_checkpoint(folder) is not None
        xla = refusals.chosen(folder, has_checkpoint=there)
        fused, values, xla = _fused(specification, xla)
        refusals.keep(folder, xla)
        if fused is not None:
            plan = Plan(specification, values, fused, partial(_leave_out_xla, folder))
            self._plans[tf.get_default_graph()] = plan


def _fused(specification: Any, xla: bool) -> tuple[Fused | None, list[tf.Tensor], bool]:
    """Return the loop, its values, and whether it is compiled."""
    op = specification.train_op
    reason = why_not(op, [])
    if reason is not None:
        print_message(get_message("fused.one_by_one", reason=reason))
        return None, [], False
    values = [each for each in _looked_at(specification) if why_not(op, [each]) is None]
    if xla:
        try:
            return Fused(op, values, xla=True, steps=_COMPILED), values, True
        except Unsupported as refusal:
            print_message(get_message("fused.not_compiled", message=refusal.message))
    # Values have a cost in every step. Without random numbers a single step can provide them.
    values = values if draws(op) else []
    return Fused(op, values), values, False


def _leave_out_xla(folder: str, reason: str) -> None:
    print_message(get_message("fused.no_longer_compiled", reason=reason))
    refusals.keep(folder, False)


def _looked_at(specification: Any) -> list[tf.Tensor]:
    """Return the tensors that hooks fetch in the steps at which they are due."""
    found = [specification.loss]
    summary = specification.scaffold.summary_op
    if summary is None:  # the summary that the scaffold will create or find
        summary = tf.train.Scaffold.get_or_default(
            "summary_op", tf.GraphKeys.SUMMARY_OP, tf.summary.merge_all
        )
    found += [] if summary is None else [summary]
    graph = tf.get_default_graph()
    for hook in specification.training_hooks:
        if isinstance(hook, tf.train.LoggingTensorHook):
            found += [graph.as_graph_element(each) for each in hook._tensors.values()]
    return [each for each in dict.fromkeys(found) if isinstance(each, tf.Tensor)]
