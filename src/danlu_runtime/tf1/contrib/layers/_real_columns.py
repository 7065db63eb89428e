"""Columns of numbers, and numbers put into buckets."""

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.feature_column.feature_column import _CategoricalColumn, _DenseColumn
from tf_slim.layers.bucketization_op import bucketize

from danlu_runtime.tf1.contrib.layers._column import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
    _reshape_real_valued_tensor,
)


class _RealValuedVarLenColumn(
    _FeatureColumn,
    namedtuple(
        "_RealValuedVarLenColumn",
        ["column_name", "default_value", "dtype", "normalizer", "is_sparse"],
    ),
):
    """As many numbers as an example has, padded or sparse."""

    @property
    def name(self) -> str:
        return self.column_name

    @property
    def key(self) -> str:
        return self._key_without_properties(["normalizer"])

    @property
    def normalizer_fn(self) -> Any:
        return self.normalizer

    @property
    def config(self) -> dict[str, Any]:
        if self.is_sparse:
            return {self.column_name: tf.VarLenFeature(self.dtype)}
        feature = tf.FixedLenSequenceFeature(
            [], self.dtype, allow_missing=True, default_value=self.default_value
        )
        return {self.column_name: feature}

    def _transform_feature(self, inputs: Any) -> Any:
        given = inputs.get(self.name)
        if self.normalizer is not None and self.is_sparse:
            values = self.normalizer(given.values)
            given = tf.SparseTensor(given.indices, values, given.dense_shape)
        elif self.normalizer is not None:
            given = self.normalizer(given)
        return tf.cast(given, tf.float32)

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> tf.Tensor:
        dense = self._to_dense_tensor(input_tensor)
        return _reshape_real_valued_tensor(dense, output_rank, self.name)

    def _to_dense_tensor(self, input_tensor: Any) -> tf.Tensor:
        if self.is_sparse:
            raise ValueError(
                "Set is_sparse to False if you want a dense Tensor for column_name: "
                f"{self.column_name}"
            )
        return input_tensor


class _RealValuedColumn(
    _FeatureColumn,
    _DenseColumn,
    namedtuple(
        "_RealValuedColumn", ["column_name", "dimension", "default_value", "dtype", "normalizer"]
    ),
):
    """A fixed count of numbers."""

    def __new__(
        cls,
        column_name: str,
        dimension: int,
        default_value: Sequence[float] | None,
        dtype: tf.DType,
        normalizer: Any,
    ) -> Any:
        default = None if default_value is None else tuple(default_value)
        return super().__new__(cls, column_name, dimension, default, dtype, normalizer)

    @property
    def name(self) -> str:
        return self.column_name

    @property
    def key(self) -> str:
        return self._key_without_properties(["normalizer"])

    @property
    def normalizer_fn(self) -> Any:
        return self.normalizer

    @property
    def config(self) -> dict[str, Any]:
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: tf.FixedLenFeature([self.dimension], self.dtype, default)}

    def _transform_feature(self, inputs: Any) -> tf.Tensor:
        given = inputs.get(self.name)
        return tf.cast(given if self.normalizer is None else self.normalizer(given), tf.float32)

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> tf.Tensor:
        numbers = tf.cast(self._to_dense_tensor(input_tensor), tf.float32)
        return _reshape_real_valued_tensor(numbers, output_rank, self.name)

    def _to_dense_tensor(self, input_tensor: Any) -> tf.Tensor:
        return input_tensor

    @property
    def _variable_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tf.Tensor:
        return inputs.get(self)


class _BucketizedColumn(
    _FeatureColumn,
    _CategoricalColumn,
    _DenseColumn,
    namedtuple("_BucketizedColumn", ["source_column", "boundaries"]),
):
    """The bucket each number of a column falls into."""

    def __new__(cls, source_column: Any, boundaries: Sequence[float]) -> Any:
        if not isinstance(source_column, _RealValuedColumn):
            raise TypeError(
                "source_column must be an instance of _RealValuedColumn. "
                f"source_column: {source_column}"
            )
        if source_column.dimension is None:
            raise ValueError(
                f"source_column must have a defined dimension. source_column: {source_column}"
            )
        if not isinstance(boundaries, list | tuple) or not boundaries:
            raise ValueError(
                f"boundaries must be a non-empty list or tuple. boundaries: {boundaries}"
            )
        if list(boundaries) != sorted(boundaries):
            raise ValueError(f"boundaries must be a sorted list. boundaries: {boundaries}")
        return super().__new__(cls, source_column, tuple(dict.fromkeys(boundaries)))

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def length(self) -> int:
        return len(self.boundaries) + 1

    @property
    def config(self) -> dict[str, Any]:
        return self.source_column.config

    def _transform_feature(self, inputs: Any) -> tf.Tensor:
        numbers = inputs.get(self.source_column)
        return bucketize(numbers, boundaries=list(self.boundaries), name="bucketize")

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> tf.Tensor:
        if output_rank != 2:
            raise ValueError("BucketizedColumn currently only supports output_rank=2")
        hot = tf.one_hot(tf.cast(input_tensor, tf.int64), self.length, 1.0, 0.0, name="one_hot")
        return tf.reshape(hot, [-1, self._num_buckets], name="reshape")

    def to_sparse_tensor(self, input_tensor: tf.Tensor) -> tf.SparseTensor:
        """Return ids: the buckets of each number of a row follow those of the one before."""
        dimension = self.source_column.dimension
        batch = tf.shape(input_tensor, name="shape")[0]
        rows = tf.repeat(tf.range(0, batch), dimension)
        columns = tf.tile(tf.range(0, dimension), [batch], name="tile")
        ids = tf.reshape(input_tensor, [-1], name="reshape") + self.length * columns
        indices = tf.cast(tf.stack([rows, columns], axis=1), tf.int64)
        return tf.SparseTensor(indices, ids, tf.cast(tf.stack([batch, dimension]), tf.int64))

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        return _LinearEmbeddingLookupArguments(
            input_tensor=self.to_sparse_tensor(input_tensor),
            weight_tensor=None,
            vocab_size=self._num_buckets,
            initializer=tf.zeros_initializer(),
            combiner="sum",
        )

    @property
    def _num_buckets(self) -> int:
        return self.length * self.source_column.dimension

    @property
    def _variable_shape(self) -> tf.TensorShape:
        return tf.TensorShape([self._num_buckets])

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return _CategoricalColumn.IdWeightPair(self.to_sparse_tensor(inputs.get(self)), None)

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> tf.Tensor:
        return self._to_dnn_input_layer(inputs.get(self), weight_collections, trainable)


def default_numbers(
    given: Any, dimension: int, dtype: tf.DType, name: str
) -> list[int] | list[float] | None:
    """Return the default of each number; a single one stands for all."""
    if given is None:
        return None
    if isinstance(given, list) and len(given) != dimension:
        raise ValueError(
            "The length of default_value must be equal to dimension. "
            f"default_value: {given}, dimension: {dimension}, column_name: {name}"
        )
    numbers = given if isinstance(given, list) else [given] * dimension
    fitting = int if dtype.is_integer else (int, float)
    if not all(isinstance(number, fitting) for number in numbers):
        raise TypeError(
            "default_value must be compatible with dtype. "
            f"default_value: {given}, dtype: {dtype}, column_name: {name}"
        )
    return numbers if dtype.is_integer else [float(number) for number in numbers]
