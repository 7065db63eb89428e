"""The losses of the heads: each returns the loss to train on and the one to report.

They differ where examples have weights: `sum(w * l) / batch` is trained on, `sum(w * l) / sum(w)`
is reported.
"""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import weights_broadcast_ops

Losses = tuple[Any, Any]


def weighted(loss: Any, weights: Any, name: str = "loss") -> Losses:
    with tf.name_scope(name, values=(loss, weights)) as scope:
        if weights is None:
            mean = tf.reduce_mean(loss, name=scope)
            return mean, mean
        weights = weights_broadcast_ops.broadcast_weights(weights, loss)
        product = tf.multiply(loss, weights, name="weighted_loss")
        average = tf.div(
            tf.reduce_sum(product),
            tf.to_float(tf.reduce_sum(weights)),
            name="weighted_average_loss",
        )
        return tf.reduce_mean(product, name=scope), average


def mean_squared(labels: Any, logits: Any, weights: Any = None) -> Losses:
    labels, logits = _columns(labels), _columns(logits)
    logits.shape.assert_is_compatible_with(labels.shape)
    return weighted(tf.square(logits - tf.to_float(labels)), weights)


def poisson(labels: Any, logits: Any, weights: Any = None) -> Losses:
    labels, logits = _columns(labels), _columns(logits)
    loss = tf.nn.log_poisson_loss(tf.to_float(labels), logits, compute_full_loss=True)
    return weighted(loss, weights)


def two_classes(labels: Any, logits: Any, weights: Any = None) -> Losses:
    labels = _columns(tf.to_float(labels))
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    return weighted(loss, weights)


def softmax(labels: Any, logits: Any, weights: Any = None) -> Losses:
    labels = tf.convert_to_tensor(labels)
    if not labels.dtype.is_integer:
        raise ValueError(
            f"Labels dtype should be integer, instead got {labels.dtype}. "
            "Cast the labels in the input_fn."
        )
    column = labels.shape.rank == 2
    if column:
        labels = tf.squeeze(labels, axis=[1])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return weighted(tf.expand_dims(loss, 1) if column else loss, weights)


def sigmoid(labels: Any, logits: Any, weights: Any = None) -> Losses:
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.to_float(labels), logits=logits)
    return weighted(loss, weights)


def hinge(labels: Any, logits: Any, weights: Any = None) -> Losses:
    labels = tf.reshape(labels, [-1, 1])
    loss = tf.losses.hinge_loss(labels, logits, reduction=tf.losses.Reduction.NONE)
    return weighted(loss, weights)


def custom(loss_fn: Callable[..., Any]) -> Callable[..., Losses]:
    """Return a user's `loss_fn(labels, logits[, weights])` in the form of the others."""

    def losses(labels: Any, logits: Any, weights: Any = None) -> Losses:
        given = (labels, logits) if weights is None else (labels, logits, weights)
        loss = loss_fn(*given)
        return loss, loss

    return losses


def _columns(tensor: Any) -> Any:
    tensor = tf.convert_to_tensor(tensor)
    return tf.expand_dims(tensor, 1) if tensor.shape.rank == 1 else tensor
