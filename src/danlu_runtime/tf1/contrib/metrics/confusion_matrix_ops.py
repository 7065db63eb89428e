"""``tf.contrib.metrics.confusion_matrix``, which TensorFlow itself still has."""

from typing import Any

import tensorflow.compat.v1 as tf


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    dtype: tf.DType = tf.int32,
    name: str | None = None,
    weights: Any = None,
) -> tf.Tensor:
    """Return how often each label (row) was predicted as each class (column)."""
    return tf.confusion_matrix(labels, predictions, num_classes, dtype, name, weights)
