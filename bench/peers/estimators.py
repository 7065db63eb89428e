"""tf.estimator as it is, and as ModelMaker drives it. A round is a training of its own.

Only the steps are timed: from the second line of a log of every hundredth step, as ModelMaker
writes it, to its last.
"""

import os
import tempfile
import time
from typing import Any

import tensorflow as tf

from peers.models import Model

EVERY = 100
WARM = 100  # steps, before the first time that counts


class Times:
    """Takes the time when a hook of TensorFlow's own writes its line."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, values: Any) -> str:
        self.taken.append(time.perf_counter())
        return "step"

    def seconds_a_step(self) -> float:
        counted = self.taken[WARM // EVERY :]
        return (counted[-1] - counted[0]) / (EVERY * (len(counted) - 1))


def plain(model: Model, steps: int) -> float:
    """Return the seconds of a step."""
    times = Times()
    _estimator(model, times).train(model.data, steps=WARM + steps + 1)
    return times.seconds_a_step()


def driven(model: Model, steps: int, *, xla: bool = False) -> float:
    """The same with fused steps."""
    from danlu_runtime.fused.estimator import fused_steps

    tf.enable_resource_variables()  # as ModelMaker does
    times = Times()
    estimator = _estimator(model, times)
    os.environ["DANLU_XLA"] = "1" if xla else "0"
    with fused_steps(estimator) as hooks:
        estimator.train(model.data, steps=WARM + steps + 1, hooks=hooks)
    tf.disable_resource_variables()
    return times.seconds_a_step()


def _estimator(model: Model, times: Times) -> Any:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        loss = model.loss(features, labels)
        line = tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=EVERY, formatter=times)
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=model.train_op(loss), training_hooks=[line]
        )

    folder = tempfile.mkdtemp(prefix="danlu-bench-")
    config = tf.estimator.RunConfig(model_dir=folder, tf_random_seed=1)
    return tf.estimator.Estimator(model_fn, config=config)
