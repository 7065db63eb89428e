"""tf.contrib.sparsemax: a softmax that gives exact zeros (Martins and Astudillo, 2016)."""

from typing import Any

import tensorflow.compat.v1 as tf


def sparsemax(logits: Any, name: str | None = None) -> tf.Tensor:
    """Return the nearest point on the simplex to each row of logits."""
    with tf.name_scope(name, "sparsemax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        size = tf.shape(logits)[1]
        # Rows may be moved without changing the result; the mean keeps large numbers exact.
        z = logits - tf.reduce_mean(logits, 1, keepdims=True)
        ordered = tf.nn.top_k(z, k=size).values
        sums = tf.cumsum(ordered, 1)
        ranks = tf.range(1, tf.cast(size, logits.dtype) + 1, dtype=logits.dtype)
        support = 1 + ranks * ordered > sums
        count = tf.reduce_sum(tf.cast(support, tf.int32), 1, keepdims=True)
        last = tf.gather(sums, tf.maximum(count - 1, 0), batch_dims=1)
        threshold = (last - 1) / tf.cast(count, logits.dtype)
        result = tf.maximum(tf.zeros_like(z), z - threshold)
        # A row with a number that is not finite has no nearest point.
        broken = tf.reduce_any(tf.logical_not(tf.is_finite(threshold)), 1, keepdims=True)
        return tf.where(tf.tile(broken, [1, size]), tf.zeros_like(z) + float("nan"), result)


def sparsemax_loss(logits: Any, sparsemax: Any, labels: Any, name: str | None = None) -> tf.Tensor:
    """Return the loss of each row whose gradient is ``sparsemax - labels``."""
    with tf.name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = tf.convert_to_tensor(logits, name="logits")
        sparsemax = tf.convert_to_tensor(sparsemax, name="sparsemax")
        labels = tf.convert_to_tensor(labels, name="labels")
        shifted = logits - tf.reduce_mean(logits, 1, keepdims=True)
        chosen = sparsemax * (shifted - 0.5 * sparsemax)
        inside = tf.where(sparsemax > 0, chosen, tf.zeros_like(sparsemax))
        return tf.reduce_sum(inside + labels * (0.5 * labels - shifted), 1)
