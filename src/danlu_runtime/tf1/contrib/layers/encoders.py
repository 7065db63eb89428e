"""``bow_encoder`` and ``embed_sequence``: ids to vectors, with their own embeddings."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.layers.sparse_ops import dense_to_sparse_tensor
from tf_slim.ops.variables import model_variable

from danlu_runtime.tf1.contrib.layers.embedding_ops import (
    embedding_lookup_unique,
    safe_embedding_lookup_sparse,
)

Regularizer = Callable[[tf.Tensor], tf.Tensor]


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> tf.Tensor:
    """Return the mean of the embeddings of each row; with ``sparse_lookup``, id 0 is padding."""
    if not vocab_size or not embed_dim:
        raise ValueError("Must specify vocab size and embedding dimension")
    with tf.variable_scope(scope, "bow_encoder", [ids], reuse=reuse):
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim],
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        is_sparse = isinstance(ids, tf.SparseTensor)
        if sparse_lookup:
            sparse = ids if is_sparse else dense_to_sparse_tensor(ids)
            return safe_embedding_lookup_sparse([embeddings], sparse, combiner="mean", default_id=0)
        if is_sparse:
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        return tf.reduce_mean(tf.nn.embedding_lookup(embeddings, ids), axis=1)


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Regularizer | None = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> tf.Tensor:
    """Return the embedding of each id; sizes may be left out where the variable is reused."""
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. "
            f"Got vocab_size={vocab_size} and embed_dim={embed_dim}"
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        known = not (reuse and vocab_size is None) and embed_dim is not None
        embeddings = model_variable(
            "embeddings",
            shape=[vocab_size, embed_dim] if known else None,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
        )
        if unique:
            return embedding_lookup_unique(embeddings, ids)
        return tf.nn.embedding_lookup(embeddings, ids)
