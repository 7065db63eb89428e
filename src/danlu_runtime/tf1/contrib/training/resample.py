"""Resampling with replacement, example by example."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.training.moving_averages import assign_moving_average

__all__ = ["resample_at_rate", "weighted_resample"]


def resample_at_rate(
    inputs: Sequence[tf.Tensor],
    rates: Any,
    scope: str | None = None,
    seed: int | None = None,
    back_prop: bool = False,
) -> list[tf.Tensor]:
    """Return the inputs with each row as often as a Poisson draw of its rate says."""
    with tf.name_scope(scope, default_name="resample_at_rate", values=[*inputs, rates]):
        rates = tf.convert_to_tensor(rates, name="rates")
        counts = tf.cast(tf.random_poisson(rates, (), rates.dtype, seed=seed), tf.int32)
        rows = tf.repeat(tf.range(tf.size(counts)), counts)
        if not back_prop:
            rows = tf.stop_gradient(rows)
        return [tf.gather(each, rows) for each in inputs]


def weighted_resample(
    inputs: Sequence[tf.Tensor],
    weights: tf.Tensor,
    overall_rate: float,
    scope: str | None = None,
    mean_decay: float = 0.999,
    seed: int | None = None,
) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Return resampled inputs and the rate each was taken at; weights count against their mean."""
    inputs = list(inputs)
    with tf.name_scope(scope, "weighted_resample", inputs) as op_scope:
        with tf.variable_scope(scope, "estimate_mean", inputs):
            estimated = tf.get_local_variable(
                "estimated_mean", initializer=tf.cast(0, weights.dtype), dtype=weights.dtype
            )
            mean = assign_moving_average(estimated, tf.reduce_mean(weights), mean_decay)
        rates = weights * overall_rate / mean
        rates, *sampled = resample_at_rate([rates, *inputs], rates, scope=op_scope, seed=seed)
        return sampled, rates
