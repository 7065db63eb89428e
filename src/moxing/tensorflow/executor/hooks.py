"""Hooks of a model: the user's own, and those that evaluate while a model is trained."""

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.plateau import Watch
from moxing.tensorflow.executor.spec import not_a_number

PREDICATES = ("support_aggregation", "support_sync_workers", "run_inter_mode")


class AggregativeSessionRunHook(tf.train.SessionRunHook):
    """A hook that knows of clones and workers: three answers beside TensorFlow's callbacks.

    ``support_aggregation``: of several clones one hook runs, on the mean of what they fetch;
    else each clone's runs. ``support_sync_workers``: its stop is everybody's.
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
        """Raise with every argument that is not such a number."""
        wrong = [
            f"{name}={value!r}"
            for name, value in given.items()
            if not (isinstance(value, Real) and fits(value))
        ]
        if wrong:
            raise ValueError(f"{type(self).__name__}: must be {wanted}, got {', '.join(wrong)}.")

    def period(self, replicas: int) -> int:
        """Return the steps between two evaluations, where ``replicas`` train together."""
        samples = self.samples_in_train * self.evaluate_every_n_epochs
        return max(1, math.ceil(samples / (self.batch_size * replicas)))

    def batches(self, clones: int) -> int:
        return max(1, math.ceil(self.samples_in_eval / (self.batch_size * clones)))

    def evaluated(self, metrics: Mapping[str, float], change_rate: Callable[..., Any]) -> bool:
        """Take note of an evaluation; tell whether the training shall stop."""
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
        self.watch = Watch(monitor, mode, min_delta, patience, baseline)

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
            *(evaluate_every_n_epochs, min_delta, patience, prefix, mode, baseline),
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
