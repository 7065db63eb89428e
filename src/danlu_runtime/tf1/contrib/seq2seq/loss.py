"""The weighted cross entropy of sequences of logits."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf


def sequence_loss(
    logits: tf.Tensor,
    targets: tf.Tensor,
    weights: tf.Tensor,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., tf.Tensor] | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the loss of logits ``[batch, time, classes]``: a scalar, or by batch or by time."""
    for tensor, what, rank in (
        (logits, "Logits", 3),
        (targets, "Targets", 2),
        (weights, "Weights", 2),
    ):
        if len(tensor.shape) != rank:
            raise ValueError(f"{what} must be a rank {rank} tensor, got shape {tensor.shape}")
    if average_across_timesteps and sum_over_timesteps:
        raise ValueError(
            "average_across_timesteps and sum_over_timesteps cannot be set to True at same time."
        )
    if average_across_batch and sum_over_batch:
        raise ValueError("average_across_batch and sum_over_batch cannot be True at same time.")
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        flat = tf.reshape(logits, [-1, tf.shape(logits)[2]])
        labels = tf.reshape(targets, [-1])
        entropy = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = entropy(labels=labels, logits=flat)
        weights = tf.convert_to_tensor(weights)
        losses = tf.reshape(losses * tf.reshape(weights, [-1]), tf.shape(logits)[:2])
        losses.set_shape(logits.shape[:2])
        if average_across_timesteps and average_across_batch:
            return tf.reduce_sum(losses) / (tf.reduce_sum(weights) + 1e-12)
        if sum_over_timesteps and sum_over_batch:
            return _over_count(losses, weights, [0, 1])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return tf.reduce_sum(losses, axis) / (tf.reduce_sum(weights, axis) + 1e-12)
        if sum_over_timesteps or sum_over_batch:
            return _over_count(losses, weights, [0] if sum_over_batch else [1])
        return losses


def _over_count(losses: tf.Tensor, weights: Any, axis: list[int]) -> tf.Tensor:
    count = tf.cast(tf.count_nonzero(weights, axis=axis), losses.dtype)
    return tf.div_no_nan(tf.reduce_sum(losses, axis), count)
