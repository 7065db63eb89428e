"""The metrics of the heads: pairs of a value and its update op."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import weights_broadcast_ops

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
