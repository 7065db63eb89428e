"""The monitor that evaluates while training goes on, and stops it when it no longer helps."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.monitors.base import EveryN
from danlu_runtime.tf1.estimator import public

__all__ = ["ValidationMonitor"]


class ValidationMonitor(EveryN):
    """Evaluates each new checkpoint; stops when a metric is no better for so many steps."""

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._data = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "hooks": hooks, "name": name}
        self.metrics = metrics
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self.check_interval_secs = check_interval_secs
        self._best_value: Any = None
        self._best_value_step: int | None = None
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False
        self._latest_path: str | None = None
        self._last_check: float | None = None

    @property
    def early_stopped(self) -> bool:
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        return self._best_value_step

    @property
    def best_value(self) -> Any:
        return self._best_value

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        now = time.time()
        if self._last_check is not None and now - self._last_check < self.check_interval_secs:
            return False
        self._last_check = now
        latest = tf.train.latest_checkpoint(self._estimator.model_dir)
        if latest is None or latest == self._latest_path:
            return False
        self._latest_path = latest
        results = self._evaluate(latest)
        tf.logging.info("Validation (step %d): %s", step, _told(results))
        return self._judge(results, _step_of(latest, step))

    def _evaluate(self, checkpoint: str) -> dict[str, Any]:
        if isinstance(self._estimator, public().Estimator):
            if any(self._data[key] is not None for key in ("x", "y", "batch_size")) or self.metrics:
                raise ValueError(
                    "tf.estimator.Estimator does not support x, y, batch_size or metrics here; "
                    "give an input_fn, and the metrics in the model_fn."
                )
            return self._estimator.evaluate(
                self._data["input_fn"], checkpoint_path=checkpoint, **self._options
            )
        return self._estimator.evaluate(
            **self._data, metrics=self.metrics, checkpoint_path=checkpoint, **self._options
        )

    def _judge(self, results: dict[str, Any], step: int) -> bool:
        if self.early_stopping_rounds is None:
            return False
        if self.early_stopping_metric not in results:
            raise ValueError(
                f"Metric {self.early_stopping_metric} missing from outputs {sorted(results)}."
            )
        value = results[self.early_stopping_metric]
        best = self._best_value
        if best is None or (value < best if self.early_stopping_metric_minimize else value > best):
            self._best_value, self._best_value_step, self._best_metrics = value, step, results
        best_step = self._best_value_step or 0
        if step - best_step < self.early_stopping_rounds:
            return False
        tf.logging.info(
            "Stopping. Best step: %d with %s = %s.",
            best_step,
            self.early_stopping_metric,
            self._best_value,
        )
        self._early_stopped = True
        return True


def _step_of(checkpoint: str, otherwise: int) -> int:
    number = os.path.basename(checkpoint).rpartition("-")[2]
    return int(number) if number.isdigit() else otherwise


def _told(results: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(results.items()))
