"""``tf.contrib.framework.zero_initializer``, once an operation of its own."""

import tensorflow.compat.v1 as tf


def zero_initializer(
    ref: tf.Variable, use_locking: bool = True, name: str = "zero_initializer"
) -> tf.Tensor:
    """Return the operation that fills a variable with zeros; run on a filled one, it fails."""
    with tf.name_scope(name):
        empty = tf.logical_not(tf.is_variable_initialized(ref))
        with tf.control_dependencies([tf.Assert(empty, ["input is already initialized"])]):
            zeros = tf.zeros(ref.shape, ref.dtype.base_dtype)
        return tf.assign(ref, zeros, use_locking=use_locking)
