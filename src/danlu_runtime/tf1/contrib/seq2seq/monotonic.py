"""Monotonic attention (Raffel and others, 2017): alignments only move forward."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


def hardmax(logits: tf.Tensor, name: str | None = None) -> tf.Tensor:
    """Return one at the largest logit of each row and zero elsewhere."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1] or tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)


def safe_cumprod(x: tf.Tensor, *args: Any, **kwargs: Any) -> tf.Tensor:
    """Return the cumulative product as a sum of logarithms, whose gradient does not explode."""
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> tf.Tensor:
    """Return the attention of a step from the one before it.

    ``mode`` is "recursive" (exact, slow), "parallel" (exact but for very small numbers) or
    "hard" (probabilities of 0 and 1 only).
    """
    p = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        attention = _recursive(p, previous)
    elif mode == "parallel":
        survived = safe_cumprod(1 - p, axis=1, exclusive=True)
        # Divided by the clipped product: numbers below 1e-10 would blow up.
        attention = p * survived * tf.cumsum(previous / tf.clip_by_value(survived, 1e-10, 1.0), 1)
    elif mode == "hard":
        reached = p * tf.cumsum(previous, 1)
        attention = reached * tf.cumprod(1 - reached, axis=1, exclusive=True)
    else:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    return attention


def _recursive(p: tf.Tensor, previous: tf.Tensor) -> tf.Tensor:
    batch = p.shape.as_list()[0] or tf.shape(p)[0]
    passed = tf.concat([tf.ones([batch, 1], p.dtype), 1 - p[:, :-1]], 1)
    reached = tf.scan(
        lambda x, step: tf.reshape(step[0] * x + step[1], [batch]),
        [tf.transpose(passed), tf.transpose(previous)],
        tf.zeros([batch], p.dtype),
    )
    return p * tf.transpose(reached)


def _monotonic_probability_fn(
    score: tf.Tensor,
    previous_alignments: tf.Tensor,
    sigmoid_noise: float,
    mode: str,
    seed: int | None = None,
) -> tf.Tensor:
    """Turn scores into monotonic alignments, with noise that drives them to 0 or 1."""
    if sigmoid_noise > 0:
        score += sigmoid_noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    p = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(p, previous_alignments, mode)
