"""tf.estimator with fewer calls: the steps nobody looks at are made by a loop.

``train`` of an Estimator makes one call for each step, and asks its hooks before and after. Most
of them do something every hundredth step only. Here the steps between are made by one call; the
step some hook is due at is made as ever, with all hooks. What is trained is the same, bit by bit.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.training import monitored_session as sessions

from danlu.errors import Unsupported
from danlu_runtime.fused import choice
from danlu_runtime.fused.loop import Fused, draws
from danlu_runtime.fused.plan import Plan
from danlu_runtime.fused.refusals import why_not
from danlu_runtime.notes import say

_COMPILED = 100  # steps of one program at most


@contextmanager
def fused_steps(estimator: Any) -> Iterator[list[tf.train.SessionRunHook]]:
    """Let ``estimator`` train by fused steps; the hooks given are to be passed to ``train``.

    Where that cannot be, it trains as ever, and a line says why.
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
    """Writes the loop into a training's graph, before that is finalized."""

    def __init__(self, estimator: Any, specifications: list[Any], plans: dict[Any, Plan]) -> None:
        self._estimator = estimator
        self._specifications = specifications
        self._plans = plans

    def begin(self) -> None:
        (specification,) = self._specifications
        folder = self._estimator.model_dir
        there = tf.train.latest_checkpoint(folder) is not None
        xla = choice.chosen(folder, has_checkpoint=there)
        fused, values, xla = _fused(specification, xla)
        choice.keep(folder, xla)
        if fused is not None:
            plan = Plan(specification, values, fused, partial(_leave_out_xla, folder))
            self._plans[tf.get_default_graph()] = plan


def _fused(specification: Any, xla: bool) -> tuple[Fused | None, list[tf.Tensor], bool]:
    """Return the loop, its values, and whether it is compiled."""
    op = specification.train_op
    reason = why_not(op, [])
    if reason is not None:
        say(f"the steps are made one by one: {reason}")
        return None, [], False
    values = [each for each in _looked_at(specification) if why_not(op, [each]) is None]
    if xla:
        try:
            return Fused(op, values, xla=True, steps=_COMPILED), values, True
        except Unsupported as refusal:
            say(f"the steps are not compiled: {refusal.message}")
    # Values cost something in every step; a single one gives them where it may.
    values = values if draws(op) else []
    return Fused(op, values), values, False


def _leave_out_xla(folder: str, reason: str) -> None:
    say(f"the steps are not compiled any more: {reason}")
    choice.keep(folder, False)


def _looked_at(specification: Any) -> list[tf.Tensor]:
    """Return what hooks look at in the steps they are due at."""
    found = [specification.loss]
    summary = specification.scaffold.summary_op
    if summary is None:  # the one the scaffold will make, or find made
        summary = tf.train.Scaffold.get_or_default(
            "summary_op", tf.GraphKeys.SUMMARY_OP, tf.summary.merge_all
        )
    found += [] if summary is None else [summary]
    graph = tf.get_default_graph()
    for hook in specification.training_hooks:
        if isinstance(hook, tf.train.LoggingTensorHook):
            found += [graph.as_graph_element(each) for each in hook._tensors.values()]
    return [each for each in dict.fromkeys(found) if isinstance(each, tf.Tensor)]
