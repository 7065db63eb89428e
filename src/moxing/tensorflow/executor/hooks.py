"""Session hooks: base classes for users, hooks that evaluate, and their use in a run."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.model import Model
from moxing.tensorflow.executor.spec import not_a_number

_GROWS = ("acc", "auc", "f1", "fmeasure", "top", "map", "precision", "recall")


class PlateauDetector:
    """Detects that a metric has stopped improving.

    With ``mode`` 'auto', the name decides whether more is better, as in Keras.
    """

    def __init__(
        self, name: str, mode: str, min_delta: float, patience: int, baseline: float | None
    ) -> None:
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"mode must be 'auto', 'min' or 'max', got {mode!r}.")
        if mode == "auto":
            mode = "max" if any(word in name.lower() for word in _GROWS) else "min"
        self._sign = 1 if mode == "max" else -1
        self._min_delta = abs(min_delta)
        self._max_waits = patience
        self._best: Any = None if baseline is None else self._sign * baseline
        self.wait = 0
        self.improved = False

    def stalls(self, value: float) -> bool:
        """Add the next value; return True if ``patience`` values in a row were no better."""
        value *= self._sign
        is_first = self._best is None and not math.isnan(value)
        self.improved = is_first or (
            self._best is not None and value > self._best + self._min_delta
        )
        if self.improved:
            self._best, self.wait = value, 0
            return False
        self.wait += 1
        return self.wait >= self._max_waits


PREDICATES = ("support_aggregation", "support_sync_workers", "run_inter_mode")


class AggregativeSessionRunHook(tf.train.SessionRunHook):
    """A hook that knows of clones and workers: three answers beside TensorFlow's callbacks.

    ``support_aggregation``: of several clones one hook runs, on the mean of what they fetch;
    else each clone's runs. ``support_sync_workers``: its stop stops all workers.
    ``run_inter_mode``: it runs in the graph of ``inter_mode``.
    """

    def support_aggregation(self) -> bool:
        raise NotImplementedError

    def support_sync_workers(self) -> bool:
        raise NotImplementedError

    def run_inter_mode(self) -> bool:
        raise NotImplementedError


class FeedSessionRunHook(AggregativeSessionRunHook):
    """Feeds placeholders of model_fn in every step; a function is called for each value."""

    def __init__(self, feed_dict: Mapping[Any, Any]) -> None:
        super().__init__()
        self.feed_dict = feed_dict

    def feeds(self) -> dict[Any, Any]:
        return {
            key: value() if callable(value) else value
            for key, value in (self.feed_dict or {}).items()
        }

    def before_run(self, run_context: Any) -> Any:
        feeds = self.feeds()
        return tf.train.SessionRunArgs(fetches=None, feed_dict=feeds) if feeds else None

    def support_aggregation(self) -> bool:
        return False

    def support_sync_workers(self) -> bool:
        return False

    def run_inter_mode(self) -> bool:
        return False


class LogEvaluationMetricHook(AggregativeSessionRunHook):
    """Evaluates every so many epochs with the graph of ``inter_mode``, and prints the means.

    ``monitor_info`` are names and numbers; the counts of samples and the batch size of one clone
    turn epochs into steps.
    """

    PREFIX = "[VALIDATION METRICS]"

    def __init__(
        self,
        monitor_info: Mapping[str, Any],
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: float = 1,
        prefix: str | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(monitor_info, Mapping) or not monitor_info:
            raise ValueError(
                f"{type(self).__name__}: monitor_info must be a dict of names and numbers, "
                f"got {monitor_info!r}."
            )
        for name, value in monitor_info.items():
            for fault in not_a_number(f"monitor_info[{name!r}]", value):
                raise ValueError(f"{type(self).__name__}: {fault}")
        self._check(
            "greater than 0",
            lambda value: value > 0,
            batch_size=batch_size,
            samples_in_train=samples_in_train,
            samples_in_eval=samples_in_eval,
            evaluate_every_n_epochs=evaluate_every_n_epochs,
        )
        self.monitor_info = dict(monitor_info)
        self.batch_size = batch_size
        self.samples_in_train = samples_in_train
        self.samples_in_eval = samples_in_eval
        self.evaluate_every_n_epochs = evaluate_every_n_epochs
        self.prefix = self.PREFIX if prefix is None else prefix

    def _check(self, wanted: str, fits: Callable[[Any], bool], **given: Any) -> None:
        """Raise ValueError with every argument that is not such a number."""
        wrong = [
            f"{name}={value!r}"
            for name, value in given.items()
            if not (isinstance(value, Real) and fits(value))
        ]
        if wrong:
            raise ValueError(f"{type(self).__name__}: must be {wanted}, got {', '.join(wrong)}.")

    def period(self, replicas: int) -> int:
        """Return the steps between two evaluations if ``replicas`` train together."""
        samples = self.samples_in_train * self.evaluate_every_n_epochs
        return max(1, math.ceil(samples / (self.batch_size * replicas)))

    def batches(self, clones: int) -> int:
        return max(1, math.ceil(self.samples_in_eval / (self.batch_size * clones)))

    def evaluated(self, metrics: Mapping[str, float], change_rate: Callable[..., Any]) -> bool:
        """Process the metrics of an evaluation; return True to stop the training."""
        return False

    def support_aggregation(self) -> bool:
        return True

    def support_sync_workers(self) -> bool:
        return True

    def run_inter_mode(self) -> bool:
        return True


class EarlyStoppingHook(LogEvaluationMetricHook):
    """Stops when ``monitor`` has not become better by more than ``min_delta``, as Keras does.

    ``patience`` evaluations may pass; the first one sets what the others are compared with.
    """

    PREFIX = "[EarlyStopping]"

    def __init__(
        self,
        monitor_info: Mapping[str, Any],
        monitor: str,
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: float = 1,
        min_delta: float = 0.0,
        patience: int = 0,
        prefix: str | None = None,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        super().__init__(
            *(monitor_info, batch_size, samples_in_train, samples_in_eval),
            *(evaluate_every_n_epochs, prefix),
        )
        if monitor not in self.monitor_info:
            names = ", ".join(map(repr, self.monitor_info))
            raise ValueError(
                f"{type(self).__name__}: monitor={monitor!r} is not in monitor_info. "
                f"It has {names}."
            )
        self._check("0 or more", lambda value: value >= 0, patience=patience)
        self._check("a number", lambda value: True, min_delta=min_delta, baseline=baseline or 0)
        self.monitor = monitor
        self.watch = PlateauDetector(monitor, mode, min_delta, patience, baseline)

    def evaluated(self, metrics: Mapping[str, float], change_rate: Callable[..., Any]) -> bool:
        return self.watch.stalls(metrics[self.monitor])


class PlateauLREarlyStoppingHook(EarlyStoppingHook):
    """Lowers the learning rate at a plateau, and stops after ``max_plateaus`` in a row."""

    PREFIX = "[PlateauLREarlyStopping]"

    def __init__(
        self,
        monitor_info: Mapping[str, Any],
        monitor: str,
        batch_size: int,
        samples_in_train: int,
        samples_in_eval: int,
        evaluate_every_n_epochs: float = 1,
        min_delta: float = 0.0,
        patience: int = 0,
        prefix: str | None = None,
        mode: str = "auto",
        baseline: float | None = None,
        factor: float = 0.1,
        cooldown: int = 0,
        min_lr: float = 0.0,
        max_plateaus: int = 3,
    ) -> None:
        super().__init__(
            *(monitor_info, monitor, batch_size, samples_in_train, samples_in_eval),
            evaluate_every_n_epochs=evaluate_every_n_epochs,
            min_delta=min_delta,
            patience=patience,
            prefix=prefix,
            mode=mode,
            baseline=baseline,
        )
        self._check("between 0 and 1", lambda value: 0 < value < 1, factor=factor)
        self._check("0 or more", lambda value: value >= 0, cooldown=cooldown, min_lr=min_lr)
        self._check("1 or more", lambda value: value >= 1, max_plateaus=max_plateaus)
        self.factor = factor
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.max_plateaus = max_plateaus
        self._plateaus = 0
        self._cooling = 0

    def evaluated(self, metrics: Mapping[str, float], change_rate: Callable[..., Any]) -> bool:
        stalls = self.watch.stalls(metrics[self.monitor])
        if self.watch.improved:
            self._plateaus = 0
        if self._cooling > 0:
            self._cooling -= 1
            self.watch.wait = 0
            return False
        if not stalls:
            return False
        self._plateaus += 1
        self.watch.wait = 0
        if self._plateaus >= self.max_plateaus:
            return True
        self._cooling = self.cooldown
        before, now = change_rate(self.factor, self.min_lr)
        tf.logging.info(
            "%s plateau %d: learning rate %g -> %g", self.prefix, self._plateaus, before, now
        )
        return False


@dataclass(frozen=True)
class Evaluation:
    """An evaluation during training.

    ``hook`` decides when it runs and receives its metrics. ``twins`` are the same hooks in
    ``inter_mode``, with the tensors of each clone.
    """

    hook: LogEvaluationMetricHook
    twins: list[LogEvaluationMetricHook]


def joining(model: Model, inter: Model | None) -> list[tf.train.SessionRunHook]:
    """Return the hooks that take part in every run of the session.

    Hooks that run in ``inter_mode`` are taken from that mode, and only if no hook evaluates.
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
    """Return the hooks that take part in the runs of an evaluation, such as feed hooks."""
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
    """Return for each hook of the model the hooks of all clones."""
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
    """One hook for the hooks of all clones; the first receives the mean of their fetches."""

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
