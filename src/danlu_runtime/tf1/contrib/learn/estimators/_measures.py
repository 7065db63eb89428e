"""The losses and the metrics of the heads.

Each loss function returns the loss to train on and the one to report. They differ where examples
have weights: `sum(w * l) / batch` is trained on, `sum(w * l) / sum(w)` is reported.
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


# The metrics of the heads: pairs of a value and its update op.


Metric = tuple[Any, Any]


def mean(values: Any, weights: Any = None, class_id: int | None = None) -> Metric:
    """Return the mean of the values, or of the column of one class."""
    values = tf.to_float(values)
    if weights is not None:
        weights = weights_broadcast_ops.broadcast_weights(tf.to_float(weights), values)
    if class_id is not None:
        values = values[:, class_id]
        weights = None if weights is None else weights[:, class_id]
    return tf.metrics.mean(values, weights)


def share_of_class(class_ids: Any, weights: Any, class_id: int) -> Metric:
    hits = tf.to_float(tf.equal(tf.to_int32(class_ids), class_id))
    return tf.metrics.mean(hits, weights)


def auc(
    predictions: Any,
    labels: Any,
    weights: Any = None,
    class_id: int | None = None,
    curve: str = "ROC",
) -> Metric:
    predictions = tf.to_float(predictions)
    labels = tf.cast(labels, tf.bool)
    if weights is not None:
        weights = weights_broadcast_ops.broadcast_weights(tf.to_float(weights), predictions)
    if class_id is not None:
        predictions, labels = predictions[:, class_id], labels[:, class_id]
        weights = None if weights is None else weights[:, class_id]
    return tf.metrics.auc(labels, predictions, weights, curve=curve)


def accuracy_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    chosen = tf.to_float(tf.greater_equal(predictions, threshold))
    return tf.metrics.accuracy(tf.to_float(labels), chosen, weights)


def precision_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    value, update = tf.metrics.precision_at_thresholds(labels, predictions, (threshold,), weights)
    return tf.squeeze(value), tf.squeeze(update)


def recall_at(predictions: Any, labels: Any, weights: Any, threshold: float) -> Metric:
    value, update = tf.metrics.recall_at_thresholds(labels, predictions, (threshold,), weights)
    return tf.squeeze(value), tf.squeeze(update)
