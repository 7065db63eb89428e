"""``tf.contrib.metrics.python.ops.set_ops``, which TensorFlow itself still has."""

from tensorflow.python.ops.sets_impl import (
    set_difference,
    set_intersection,
    set_size,
    set_union,
)

__all__ = ["set_difference", "set_intersection", "set_size", "set_union"]
