"""Columns of ids made dense: one hot, or by embeddings."""

import math
from collections import namedtuple
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.feature_column.feature_column import _DenseColumn
from tf_slim.layers.layers import _inner_flatten

from danlu_runtime.tf1.contrib.layers._column import (
    _DeepEmbeddingLookupArguments,
    _embeddings_from_arguments,
    _FeatureColumn,
)


class _OneHotColumn(
    _FeatureColumn, _DenseColumn, namedtuple("_OneHotColumn", ["sparse_id_column"])
):
    """A number for each id: how often it occurs, or its weight."""

    @property
    def name(self) -> str:
        return f"{self.sparse_id_column.name}_one_hot"

    @property
    def length(self) -> int:
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        return self.sparse_id_column.config

    def insert_transformed_feature(self, columns_to_tensors: Any) -> None:
        ids = self.sparse_id_column
        if ids not in columns_to_tensors:
            ids.insert_transformed_feature(columns_to_tensors)
        columns_to_tensors[self] = columns_to_tensors[ids]

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = False,
        output_rank: int = 2,
    ) -> tf.Tensor:
        ids = _inner_flatten(self.sparse_id_column.id_tensor(input_tensor), output_rank)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        if weights is not None:
            return self._weighted(ids, weights)
        dense = tf.sparse_tensor_to_dense(ids, default_value=-1)
        hot = tf.one_hot(dense, depth=self.length, on_value=1.0, off_value=0.0)
        return tf.reduce_sum(hot, axis=[output_rank - 1])

    def _weighted(self, ids: tf.SparseTensor, weights: tf.SparseTensor) -> tf.Tensor:
        merged = tf.sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=self.length)
        # Ids of -1, which no vocabulary has, must not be written.
        merged = tf.sparse_slice(merged, tf.zeros_like(merged.dense_shape), merged.dense_shape)
        dense = tf.sparse_tensor_to_dense(merged)
        return tf.reshape(dense, tf.concat([tf.shape(dense)[:-1], [self.length]], axis=0))

    def _transform_feature(self, inputs: Any) -> tf.Tensor:
        return self._to_dnn_input_layer(inputs.get(self.sparse_id_column))

    @property
    def _variable_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.length])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tf.Tensor:
        return inputs.get(self)


class _Embedded(_FeatureColumn, _DenseColumn):
    """What embedded columns have in common."""

    @property
    def key(self) -> str:
        return self._key_without_properties(["initializer"])

    @property
    def _variable_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tf.Tensor:
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return _embeddings_from_arguments(self, arguments, weight_collections, trainable)


class _EmbeddingColumn(
    _Embedded,
    namedtuple(
        "_EmbeddingColumn",
        [
            "sparse_id_column",
            "dimension",
            "combiner",
            "initializer",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
            "shared_embedding_name",
            "shared_vocab_size",
            "max_norm",
            "trainable",
        ],
    ),
):
    """A vector for each id, combined by row."""

    def __new__(
        cls,
        sparse_id_column: Any,
        dimension: int,
        combiner: str = "mean",
        initializer: Any = None,
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
        shared_embedding_name: str | None = None,
        shared_vocab_size: int | None = None,
        max_norm: float | None = None,
        trainable: bool = True,
    ) -> Any:
        if initializer is not None and not callable(initializer):
            raise ValueError(
                "initializer must be callable if specified. "
                f"Embedding of column_name: {sparse_id_column.name}"
            )
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError(
                "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
            )
        if initializer is None:
            spread = 1 / math.sqrt(sparse_id_column.length)
            initializer = tf.truncated_normal_initializer(mean=0.0, stddev=spread)
        return super().__new__(
            cls,
            sparse_id_column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            shared_vocab_size,
            max_norm,
            trainable,
        )

    @property
    def name(self) -> str:
        kind = "embedding" if self.shared_embedding_name is None else "shared_embedding"
        return f"{self.sparse_id_column.name}_{kind}"

    @property
    def length(self) -> int:
        shared = self.shared_vocab_size
        return self.sparse_id_column.length if shared is None else shared

    @property
    def config(self) -> dict[str, Any]:
        return self.sparse_id_column.config

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.sparse_id_column)

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> _DeepEmbeddingLookupArguments:
        return _DeepEmbeddingLookupArguments(
            input_tensor=self.sparse_id_column.id_tensor(input_tensor),
            weight_tensor=self.sparse_id_column.weight_tensor(input_tensor),
            vocab_size=self.length,
            initializer=self.initializer,
            combiner=self.combiner,
            dimension=self.dimension,
            shared_embedding_name=self.shared_embedding_name,
            hash_key=None,
            max_norm=self.max_norm,
            trainable=self.trainable,
        )

    def _checkpoint_path(self) -> tuple[str, str] | None:
        if self.ckpt_to_load_from is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        raise ValueError(
            f"Column {self} is not supported in linear models. Please use sparse_column."
        )


class _ScatteredEmbeddingColumn(
    _Embedded,
    namedtuple(
        "_ScatteredEmbeddingColumn",
        ["column_name", "size", "dimension", "hash_key", "combiner", "initializer"],
    ),
):
    """A vector for each text, its parts picked by hash from one list of weights."""

    def __new__(
        cls,
        column_name: str,
        size: int,
        dimension: int,
        hash_key: int | None,
        combiner: str = "sqrtn",
        initializer: Any = None,
    ) -> Any:
        if initializer is not None and not callable(initializer):
            raise ValueError(
                f"initializer must be callable if specified. column_name: {column_name}"
            )
        initializer = initializer or tf.truncated_normal_initializer(mean=0.0, stddev=0.1)
        return super().__new__(cls, column_name, size, dimension, hash_key, combiner, initializer)

    @property
    def name(self) -> str:
        return f"{self.column_name}_scattered_embedding"

    @property
    def config(self) -> dict[str, Any]:
        return {self.column_name: tf.VarLenFeature(tf.string)}

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.column_name)

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> _DeepEmbeddingLookupArguments:
        return _DeepEmbeddingLookupArguments(
            input_tensor=input_tensor,
            weight_tensor=None,
            vocab_size=self.size,
            initializer=self.initializer,
            combiner=self.combiner,
            dimension=self.dimension,
            shared_embedding_name=None,
            hash_key=self.hash_key,
            max_norm=None,
            trainable=True,
        )
