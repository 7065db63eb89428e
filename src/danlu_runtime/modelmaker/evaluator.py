"""Checkpoints evaluated and exported outside of the training: as they come, or the last one."""

import threading
import time
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

_LOOK = 0.5  # seconds between two looks for a checkpoint


def evaluate(estimator: Any, spec: Any, over: threading.Event) -> Mapping[str, Any]:
    """Evaluate and export checkpoints as they come, and the last one; return its metrics.

    As TensorFlow's own evaluator, which ends at a step it must know, and sleeps through the end.
    """
    evaluator = _evaluator(estimator, spec)
    metrics: Mapping[str, Any] = {}
    over.wait(spec.start_delay_secs)
    while True:
        last = over.is_set()  # asked first: nothing is written after that
        began = time.monotonic()
        try:
            result, _ = evaluator.evaluate_and_export()
        except tf.errors.NotFoundError:
            if last:
                raise
            over.wait(_LOOK)  # a newer checkpoint has replaced it
            continue
        metrics = result.metrics or metrics
        if last:
            return metrics
        pause = spec.throttle_secs if result.metrics else 0
        over.wait(max(_LOOK, began + pause - time.monotonic()))


def evaluate_last(estimator: Any, spec: Any) -> Mapping[str, Any]:
    """Evaluate and export the last checkpoint; return its metrics, none where there is none.

    A training that has its last step already makes no further one, and so evaluates nothing:
    whoever made that step may have been killed before the export.
    """
    result, _ = _evaluator(estimator, spec).evaluate_and_export()
    return result.metrics or {}


def _evaluator(estimator: Any, spec: Any) -> Any:
    from tensorflow_estimator.python.estimator import training

    return training._TrainingExecutor._Evaluator(estimator, spec, None)
