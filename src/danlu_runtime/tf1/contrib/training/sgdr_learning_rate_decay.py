"""A learning rate that falls as a cosine and starts again, each time with a longer period."""

import math
from typing import Any

import tensorflow.compat.v1 as tf


def sgdr_decay(
    learning_rate: Any,
    global_step: Any,
    initial_period_steps: Any,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    name: str | None = None,
) -> tf.Tensor:
    """Return the rate at a step; a restart has ``t_mul`` times the steps, ``m_mul`` the rate."""
    if global_step is None:
        raise ValueError("global_step is required for sgdr_decay.")
    values = [learning_rate, global_step, initial_period_steps, t_mul, m_mul]
    with tf.name_scope(name, "SGDRDecay", values) as scope:
        rate = tf.convert_to_tensor(learning_rate, name="initial_learning_rate")
        periods, longer, smaller = (tf.cast(v, rate.dtype) for v in (global_step, t_mul, m_mul))
        periods /= tf.cast(initial_period_steps, rate.dtype)
        one = tf.ones([], rate.dtype)

        def equal_periods() -> list[tf.Tensor]:
            restarts = tf.floor(periods)
            return [restarts, periods - restarts]

        def growing_periods() -> list[tf.Tensor]:
            # The first n periods together: a geometric series, solved for n.
            restarts = tf.floor(tf.log(one - periods * (one - longer)) / tf.log(longer))
            before = (one - longer**restarts) / (one - longer)
            return [restarts, (periods - before) / longer**restarts]

        restarts, done = tf.cond(tf.equal(longer, one), equal_periods, growing_periods)
        peak = rate * smaller**restarts
        return tf.multiply(0.5 * peak, tf.cos(done * math.pi) + one, name=scope)
