"""Learning rates that follow the global step."""

import math
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.rate_strategy import Piece, read


def piecewise_lr(lr_strategy: Any, num_samples: int, global_batch_size: int) -> tf.Tensor:
    """Return the rate of a strategy such as ``'5:0.01->0.1,30:0.1,60:0.1=>0.001'``.

    An item ``E:rate`` holds up to epoch E; ``a->b`` goes from a to b in a line, ``a=>b`` by equal
    factors; the last rate stays. A number alone is a constant. An epoch has as many steps as
    there are batches of ``global_batch_size`` in ``num_samples``, the last one part of one.
    """
    for name, value in (("num_samples", num_samples), ("global_batch_size", global_batch_size)):
        if not value > 0:
            raise ValueError(f"{name} of piecewise_lr must be above 0, got {value!r}.")
    steps_per_epoch = math.ceil(num_samples / global_batch_size)
    step = tf.cast(tf.train.get_or_create_global_step(), tf.int64)
    with tf.name_scope("piecewise_lr"):
        *earlier, last = read(lr_strategy)
        rate = _rate(last, step, steps_per_epoch)
        for piece in reversed(earlier):
            end = _step(piece.end, steps_per_epoch)
            rate = tf.where(step < end, _rate(piece, step, steps_per_epoch), rate)
        return rate


def linear_cosine_decay(
    max_lr: Any, min_lr: Any, global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tf.Tensor:
    """Return a rate that rises, falls and rests.

    It rises in a line from ``min_lr`` to ``max_lr`` in the first ``warmup`` of ``max_step`` steps,
    falls until ``decay_end`` of them, and stays at ``min_lr``. With ``p`` from 0 to 1 on its way
    down it is ``min_lr + (max_lr - min_lr) * (1 - p) * (1 + cos(pi * p)) / 2``.
    """
    with tf.name_scope("linear_cosine_decay"):
        up, down = _ways(global_step, max_step, warmup, decay_end)
        height = up * (1.0 - down) * 0.5 * (1.0 + tf.cos(math.pi * down))
        return tf.add(min_lr, (max_lr - min_lr) * height, name="learning_rate")


def polynomial_decay(
    max_lr: Any,
    min_lr: Any,
    global_step: Any,
    max_step: int,
    warmup: float,
    decay_end: float,
    power: float = 2.0,
) -> tf.Tensor:
    """Return a rate as ``linear_cosine_decay`` does, that falls by ``(1 - p) ** power``."""
    with tf.name_scope("polynomial_decay"):
        up, down = _ways(global_step, max_step, warmup, decay_end)
        height = up * tf.pow(1.0 - down, power)
        return tf.add(min_lr, (max_lr - min_lr) * height, name="learning_rate")


def _ways(
    global_step: Any, max_step: int, warmup: float, decay_end: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return how much of the way up is done, and of the way down."""
    if not max_step > 0:
        raise ValueError(f"max_step must be above 0, got {max_step!r}.")
    if not 0 <= warmup <= decay_end <= 1:
        raise ValueError(
            "warmup and decay_end are shares of all steps, the first before the second: "
            f"got {warmup!r} and {decay_end!r}."
        )
    step = tf.cast(global_step, tf.float32)
    rise, fall = warmup * max_step, (decay_end - warmup) * max_step
    up = tf.minimum(step / rise, 1.0) if rise > 0 else tf.ones_like(step)
    if fall > 0:
        return up, tf.clip_by_value((step - rise) / fall, 0.0, 1.0)
    return up, tf.cast(step > rise, tf.float32)


def _step(epoch: float, steps_per_epoch: int) -> int:
    return round(epoch * steps_per_epoch)


def _rate(piece: Piece, step: tf.Tensor, steps_per_epoch: int) -> tf.Tensor:
    if piece.first == piece.last:
        return tf.constant(piece.last, tf.float32)
    start, end = _step(piece.start, steps_per_epoch), _step(piece.end, steps_per_epoch)
    if end == start:  # less than a step long: only its end is seen
        return tf.constant(piece.last, tf.float32)
    # Steps are counted before they become floating-point numbers: those end at 16 million.
    done = tf.clip_by_value(step, start, end) - start
    share = tf.cast(done, tf.float32) / float(end - start)
    if piece.exponential:
        return piece.first * tf.exp(share * math.log(piece.last / piece.first))
    return piece.first + share * (piece.last - piece.first)
