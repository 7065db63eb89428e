"""Embedding look-ups of ``tf.contrib.layers``."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.layers.sparse_feature_cross_op import sparse_feature_cross

Weights = Any  # a variable, a partitioned one, or a list of either's parts
# Stands for "no feature" where a row is empty; tf.contrib used these two.
_NO_TEXT = "6ZxWzWOHxZ"
_NO_NUMBER = 1288896567
_SEGMENT = {
    "sum": tf.sparse_segment_sum,
    "mean": tf.sparse_segment_mean,
    "sqrtn": tf.sparse_segment_sqrt_n,
}


def safe_embedding_lookup_sparse(
    embedding_weights: Weights,
    sparse_ids: tf.SparseTensor,
    sparse_weights: tf.SparseTensor | None = None,
    combiner: str | None = None,
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> tf.Tensor:
    """Look up embeddings; an empty row gives zeros, or the embedding of ``default_id``."""
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights,
        sparse_ids,
        sparse_weights,
        combiner=combiner or "mean",
        default_id=default_id,
        name=name,
        partition_strategy=partition_strategy,
        max_norm=max_norm,
    )


def embedding_lookup_unique(
    params: Weights, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> tf.Tensor:
    """Look up each id once, however often it occurs."""
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        unique, positions = tf.unique(tf.reshape(ids, [-1]))
        found = tf.nn.embedding_lookup(params, unique, partition_strategy)
        shape = tf.concat([tf.shape(ids), tf.shape(found)[1:]], 0)
        embedded = tf.reshape(tf.gather(found, positions), shape)
        embedded.set_shape(ids.get_shape().concatenate(found.get_shape()[1:]))
        return embedded


def embedding_lookup_sparse_with_distributed_aggregation(
    params: Weights,
    sp_ids: tf.SparseTensor,
    sp_weights: tf.SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> tf.Tensor:
    """Give what ``tf.nn.embedding_lookup_sparse`` gives.

    tf.contrib added the parts where each parameter server holds them, to send less; the values
    are the same.
    """
    return tf.nn.embedding_lookup_sparse(
        params,
        sp_ids,
        sp_weights,
        partition_strategy=partition_strategy,
        name=name,
        combiner=combiner or "mean",
        max_norm=max_norm,
    )


def scattered_embedding_lookup(
    params: Weights,
    values: tf.Tensor,
    dimension: int,
    name: str | None = None,
    hash_key: int | None = None,
) -> tf.Tensor:
    """Give each value an embedding whose parts are picked from ``params`` by hash."""
    if dimension is None:
        raise ValueError("You must specify dimension.")
    if dimension <= 0:
        raise ValueError(f"Dimension must be >0. Given is {dimension}")
    parts = _parts(params)
    with tf.name_scope(name, "scattered_embedding_lookup", [*parts, values]):
        shape = tf.shape(values)
        flat = tf.reshape(values, [-1, 1])
        positions = tf.tile(tf.expand_dims(tf.range(0, dimension), 0), tf.shape(flat))
        ids = sparse_feature_cross(
            [positions, flat], hashed_output=True, num_buckets=_size(parts), hash_key=hash_key
        )
        found = tf.nn.embedding_lookup(
            parts, tf.sparse_tensor_to_dense(ids), partition_strategy="div"
        )
        return tf.reshape(found, tf.concat([shape, [dimension]], 0))


def scattered_embedding_lookup_sparse(
    params: Weights,
    sparse_values: tf.SparseTensor,
    dimension: int,
    combiner: str | None = None,
    default_value: Any = None,
    name: str | None = None,
    hash_key: int | None = None,
) -> tf.Tensor:
    """Combine the scattered embeddings of each row; an empty row has that of a default value."""
    combiner = combiner or "mean"
    if combiner not in _SEGMENT:
        raise ValueError("Combiner must be one of 'mean', 'sqrtn' or 'sum'.")
    if not isinstance(sparse_values, tf.SparseTensor):
        raise TypeError("sparse_values must be SparseTensor")
    parts = _parts(params)
    with tf.name_scope(name, "scattered_embedding_lookup_sparse", [*parts, sparse_values]) as scope:
        if default_value is None:
            default_value = _NO_TEXT if sparse_values.dtype == tf.string else _NO_NUMBER
        filled, _ = tf.sparse.fill_empty_rows(sparse_values, default_value)
        rows = tf.cast(filled.indices[:, 0], tf.int32)
        unique, positions = tf.unique(filled.values)
        embedded = scattered_embedding_lookup(parts, unique, dimension, hash_key=hash_key)
        return _SEGMENT[combiner](embedded, positions, rows, name=scope)


def _parts(params: Weights) -> list[Any]:
    if hasattr(params, "_get_variable_list"):  # a partitioned variable
        return list(params)
    return params if isinstance(params, list) else [params]


def _size(parts: Sequence[Any]) -> int:
    """Return the length of all parts, which must be split as ``tf.nn.embedding_lookup`` splits."""
    sizes = []
    for part in parts:
        part.get_shape().assert_has_rank(1)
        part.get_shape().assert_is_fully_defined()
        sizes.append(part.get_shape().as_list()[0])
    total = sum(sizes)
    for number, size in enumerate(sizes):
        expected = (total - number - 1) // len(sizes) + 1
        if size != expected:
            raise ValueError(f"Tensor {number} in params has size {size}, expected {expected}.")
    return total
