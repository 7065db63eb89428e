"""How attention mechanisms score a query against keys, and how they mask a memory.

The private names are those of TensorFlow 1.15: public scripts with own mechanisms use them.
"""

import math
from typing import Any

import tensorflow.compat.v1 as tf


def _luong_score(query: tf.Tensor, keys: tf.Tensor, scale: bool) -> tf.Tensor:
    depth, units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth != units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  "
            f"Query ({query}) has units: {depth}.  Keys ({keys}) have units: {units}.  "
            f"Perhaps you need to set num_units to the keys' dimension ({units})?"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    if not scale:
        return score
    return score * tf.get_variable("attention_g", [], query.dtype, tf.ones_initializer())


def _bahdanau_score(query: tf.Tensor, keys: tf.Tensor, normalize: bool) -> tf.Tensor:
    units, dtype = keys.shape.as_list()[2] or tf.shape(keys)[2], query.dtype
    v = tf.get_variable("attention_v", [units], dtype)
    together = keys + tf.expand_dims(query, 1)
    if normalize:
        start = tf.constant_initializer(math.sqrt(1.0 / units))
        g = tf.get_variable("attention_g", [], dtype, start)
        together += tf.get_variable("attention_b", [units], dtype, tf.zeros_initializer())
        v = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v)))
    return tf.reduce_sum(v * tf.tanh(together), [2])


def _prepare_memory(memory: Any, lengths: Any, check_inner_dims_defined: bool) -> Any:
    def prepare(part: Any) -> tf.Tensor:
        part = tf.convert_to_tensor(part, name="memory")
        if check_inner_dims_defined and not part.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {part.name} to have fully defined inner dims, "
                f"but saw shape: {part.shape}"
            )
        if lengths is None:
            return part
        batch = part.shape.as_list()[0] or tf.shape(part)[0]
        asked = tf.convert_to_tensor(lengths, name="memory_sequence_length")
        check = tf.assert_equal(
            asked.shape.as_list()[0] or tf.shape(asked)[0],
            batch,
            message="memory_sequence_length and memory tensor batch sizes do not match.",
        )
        with tf.control_dependencies([check] if check is not None else []):
            mask = tf.sequence_mask(asked, tf.shape(part)[1], dtype=part.dtype)
            ones = tf.ones([part.shape.ndims - 2], tf.int32)
            return part * tf.reshape(mask, tf.concat([tf.shape(mask), ones], 0))

    return tf.nest.map_structure(prepare, memory)


def _maybe_mask_score(score: tf.Tensor, lengths: Any, mask_value: Any) -> tf.Tensor:
    if lengths is None:
        return score
    check = tf.assert_positive(
        lengths, message="All values in memory_sequence_length must greater than zero."
    )
    with tf.control_dependencies([check] if check is not None else []):
        mask = tf.sequence_mask(lengths, maxlen=tf.shape(score)[1])
        return tf.where(mask, score, mask_value * tf.ones_like(score))
