"""Crosses of features: ids or texts of every combination in a row.

With a hash key TensorFlow still has the operation. Without one, tf.contrib hashed in a way of
its own, whose compiled operation is gone: it is computed here from the same arithmetic, so that
a crossed column keeps its ids.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gen_sparse_ops

SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY = 956888297470

Feature = tf.Tensor | tf.SparseTensor
# The seed and the constant of the hash that the operation SparseFeatureCross of 1.x combined with.
_SEED = 0xDECAFCAFFE
_GOLDEN_RATIO = 0x9E3779B97F4A7800 - 2**64
_LARGEST = 2**63 - 1


def sparse_feature_cross(
    inputs: Sequence[Any],
    hashed_output: bool = False,
    num_buckets: int = 0,
    name: str | None = None,
    hash_key: int | None = None,
) -> tf.SparseTensor:
    """Return the crosses of each row: ids below ``num_buckets``, or texts joined by ``_X_``.

    Sparse inputs count before dense ones, whatever their order.
    """
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(given, Feature) for given in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [_as_text_or_int64(i) for i in inputs if isinstance(i, tf.SparseTensor)]
    dense = [_as_text_or_int64(i) for i in inputs if not isinstance(i, tf.SparseTensor)]
    if hashed_output and not hash_key:
        with tf.name_scope(name, "SparseFeatureCross"):
            return _hashed_as_in_1x([*map(_rows, sparse), *map(_dense_rows, dense)], num_buckets)
    kinds = {feature.dtype for feature in [*sparse, *dense]}
    crossed = gen_sparse_ops.sparse_cross(
        [feature.indices for feature in sparse],
        [feature.values for feature in sparse],
        [feature.dense_shape for feature in sparse],
        dense,
        hashed_output,
        num_buckets,
        hash_key or SPARSE_FEATURE_CROSS_DEFAULT_HASH_KEY,  # joined texts do not use it
        out_type=tf.int64 if hashed_output else tf.string,
        internal_type=tf.string if kinds == {tf.string} else tf.int64,
        name=name,
    )
    return tf.SparseTensor(*crossed)


class _Rows(NamedTuple):
    """A feature as the hash needs it: int64 values, row by row."""

    values: tf.Tensor
    starts: tf.Tensor
    counts: tf.Tensor


def _as_text_or_int64(feature: Any) -> Any:
    return feature if feature.dtype == tf.string else tf.cast(feature, tf.int64)


def _hashes(values: tf.Tensor) -> tf.Tensor:
    if values.dtype != tf.string:
        return values
    return tf.bitcast(tf.fingerprint(values), tf.int64)


def _rows(feature: tf.SparseTensor) -> _Rows:
    ones = tf.ones_like(feature.values, dtype=tf.int64)
    counts = tf.unsorted_segment_sum(ones, feature.indices[:, 0], feature.dense_shape[0])
    return _Rows(_hashes(feature.values), tf.cumsum(counts, exclusive=True), counts)


def _dense_rows(feature: tf.Tensor) -> _Rows:
    rows, width = tf.unstack(tf.shape(feature, out_type=tf.int64))
    counts = tf.fill([rows], width)
    return _Rows(_hashes(tf.reshape(feature, [-1])), tf.range(rows) * width, counts)


def _hashed_as_in_1x(columns: Sequence[_Rows], num_buckets: int) -> tf.SparseTensor:
    """Number the combinations of a row, the last column turning fastest, and hash each."""
    totals = tf.reduce_prod(tf.stack([column.counts for column in columns]), axis=0)
    row = tf.repeat(tf.range(tf.size(totals, out_type=tf.int64)), totals)
    number = tf.range(tf.reduce_sum(totals)) - tf.gather(tf.cumsum(totals, exclusive=True), row)
    rest, chosen = number, []
    for column in reversed(columns):
        count = tf.gather(column.counts, row)
        chosen.append(tf.gather(column.values, tf.gather(column.starts, row) + rest % count))
        rest //= count
    combined = tf.fill(tf.shape(number), tf.constant(_SEED, tf.int64))
    for value in reversed(chosen):
        combined = _combine(combined, value)
    ids = _unsigned_modulo(combined, num_buckets if num_buckets > 0 else _LARGEST)
    width = tf.reduce_max(tf.concat([totals, [0]], 0))
    shape = tf.stack([tf.size(totals, out_type=tf.int64), width])
    return tf.SparseTensor(tf.stack([row, number], axis=1), ids, shape)


def _combine(seed: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
    ten, four = tf.constant(10, tf.int64), tf.constant(4, tf.int64)
    shifted = tf.bitwise.left_shift(seed, ten) + tf.bitwise.right_shift(seed, four)
    return tf.bitwise.bitwise_xor(seed, value + tf.constant(_GOLDEN_RATIO, tf.int64) + shifted)


def _unsigned_modulo(values: tf.Tensor, divisor: int) -> tf.Tensor:
    unsigned = tf.bitcast(values, tf.uint64)
    return tf.cast(tf.floormod(unsigned, tf.constant(divisor, tf.uint64)), tf.int64)
