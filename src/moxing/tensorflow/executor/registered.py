"""The hooks a model returned: those that join the session, and those that evaluate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.hooks import (
    PREDICATES,
    AggregativeSessionRunHook,
    LogEvaluationMetricHook,
)
from moxing.tensorflow.executor.model import Model


@dataclass(frozen=True)
class Evaluation:
    """``hook`` says when, and is told; ``twins`` of inter_mode have the tensors of each clone."""

    hook: LogEvaluationMetricHook
    twins: list[LogEvaluationMetricHook]


def joining(model: Model, inter: Model | None) -> list[tf.train.SessionRunHook]:
    """Return the hooks that take part in every run of the session.

    Of a hook that runs in ``inter_mode`` the one made there does, where nothing evaluates.
    """
    found: list[tf.train.SessionRunHook] = []
    for same in _by_position(model):
        if not _runs_inter(same[0]):
            found += _merged(same)
    if inter is not None and not _evaluating(model):
        for same in _by_position(inter):
            if _runs_inter(same[0]):
                found += _merged(same)
    return found


def in_evaluations(inter: Model) -> list[tf.train.SessionRunHook]:
    """Return the hooks that take part in the runs of an evaluation: who feeds, who looks."""
    return [
        hook
        for spec in inter.specs
        for hook in spec.hooks
        if not isinstance(hook, LogEvaluationMetricHook)
    ]


def _evaluating(model: Model) -> bool:
    return any(isinstance(hook, LogEvaluationMetricHook) for hook in model.first.hooks)


def evaluations(model: Model, inter: Model | None) -> list[Evaluation]:
    """Return the evaluations of a training, each with the tensors of the other mode."""
    twins = _by_position(inter) if inter is not None else []
    other = inter.mode if inter is not None else "None"
    found = []
    for position, same in enumerate(_by_position(model)):
        hook = same[0]
        if inter is None and _runs_inter(hook):
            raise ValueError(
                f"{type(hook).__name__} evaluates in another mode: give "
                "mox.run(inter_mode=mox.ModeKeys.EVAL)."
            )
        if not isinstance(hook, LogEvaluationMetricHook):
            continue
        there = twins[position] if position < len(twins) else []
        if not there or type(there[0]) is not type(hook):
            raise ValueError(_unequal(hook, position, model.mode, other))
        found.append(Evaluation(hook, there))
    seen = {id(each.twins[0]) for each in found}
    for position, same in enumerate(twins):
        if isinstance(same[0], LogEvaluationMetricHook) and id(same[0]) not in seen:
            raise ValueError(_unequal(same[0], position, other, model.mode))
    return found


def _unequal(hook: Any, position: int, there: str, missing: str) -> str:
    return (
        f"model_fn returns {type(hook).__name__} as hook {position} in mode {there} and not in "
        f"mode {missing}: return the same hooks, in the same order, in both."
    )


def _by_position(model: Model) -> list[list[Any]]:
    """Return for each hook of the model the ones its clones have made."""
    for spec in model.specs:
        for hook in spec.hooks:
            _check(hook)
    lengths = {len(spec.hooks) for spec in model.specs}
    if len(lengths) > 1:
        raise ValueError("model_fn must return the same hooks for every clone.")
    return [list(same) for same in zip(*(spec.hooks for spec in model.specs), strict=True)]


def _check(hook: Any) -> None:
    name = type(hook).__name__
    if not isinstance(hook, tf.train.SessionRunHook):
        raise TypeError(f"A hook of mox.ModelSpec must be a tf.train.SessionRunHook, got {name}.")
    if not isinstance(hook, AggregativeSessionRunHook):
        return
    missing = [
        f"{each}()"
        for each in PREDICATES
        if getattr(type(hook), each) is getattr(AggregativeSessionRunHook, each)
    ]
    if missing:
        raise TypeError(f"{name} must implement {', '.join(missing)}: each returns True or False.")


def _runs_inter(hook: Any) -> bool:
    return isinstance(hook, AggregativeSessionRunHook) and bool(hook.run_inter_mode())


def _merged(same: Sequence[Any]) -> list[tf.train.SessionRunHook]:
    hook = same[0]
    merges = isinstance(hook, AggregativeSessionRunHook) and hook.support_aggregation()
    return [Aggregated(same)] if merges and len(same) > 1 else list(same)


class Aggregated(tf.train.SessionRunHook):
    """The hooks of all clones as one: the first sees the mean of what they fetch."""

    def __init__(self, hooks: Sequence[Any]) -> None:
        self._hooks = list(hooks)

    def begin(self) -> None:
        self._hooks[0].begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        self._hooks[0].after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        wanted = [hook.before_run(run_context) for hook in self._hooks]
        if wanted[0] is None:
            return None
        feeds = {key: value for each in wanted for key, value in (each.feed_dict or {}).items()}
        fetches = None if wanted[0].fetches is None else [each.fetches for each in wanted]
        return tf.train.SessionRunArgs(fetches, feeds or None)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        results = run_values.results
        if results is not None and results[0] is not None:
            mean = tf.nest.map_structure(_mean, *results)
            run_values = run_values._replace(results=mean)
        self._hooks[0].after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        self._hooks[0].end(session)


def _mean(*values: Any) -> Any:
    numbers = np.asarray(values)
    return np.mean(numbers, axis=0) if np.issubdtype(numbers.dtype, np.number) else values[0]
