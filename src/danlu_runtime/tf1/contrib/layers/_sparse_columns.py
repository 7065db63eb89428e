"""Columns of ids: hashed, taken as they are, looked up in a vocabulary, or crossed."""

from collections import namedtuple
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.feature_column.feature_column import _CategoricalColumn
from tensorflow.python.ops.lookup_ops import index_table_from_file, index_table_from_tensor
from tf_slim.layers.sparse_ops import dense_to_sparse_tensor

from danlu_runtime.tf1.contrib.layers._column import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
    _reshape_real_valued_tensor,
)
from danlu_runtime.tf1.contrib.layers._real_columns import _BucketizedColumn
from danlu_runtime.tf1.contrib.layers.sparse_feature_cross_op import sparse_feature_cross

HashKeys = list[list[int]] | None


class _SparseIdLookupConfig(NamedTuple):
    """Where the ids of a column are looked up."""

    vocabulary_file: str | None = None
    keys: tuple[Any, ...] | None = None
    num_oov_buckets: int = 0
    vocab_size: int | None = None
    default_value: int = -1


class _Categorical(_FeatureColumn, _CategoricalColumn):
    """What columns of ids have in common; ``tf.feature_column`` asks the last three."""

    @property
    def length(self) -> int:
        raise NotImplementedError

    def id_tensor(self, input_tensor: Any) -> tf.SparseTensor:
        return input_tensor

    def weight_tensor(self, input_tensor: Any) -> tf.SparseTensor | None:
        return None

    def _linear(self, input_tensor: Any, combiner: str) -> _LinearEmbeddingLookupArguments:
        return _LinearEmbeddingLookupArguments(
            input_tensor=self.id_tensor(input_tensor),
            weight_tensor=self.weight_tensor(input_tensor),
            vocab_size=self.length,
            initializer=tf.zeros_initializer(),
            combiner=combiner,
        )

    def _refuse_in_dnn(self, use: str) -> None:
        kind = type(self).__name__.lstrip("_")
        kind = "SparseColumn" if kind.startswith("SparseColumn") else kind
        raise ValueError(f"{kind} is not supported in DNN. Please use {use}. column: {self}")

    @property
    def _num_buckets(self) -> int:
        return self.length

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        transformed = inputs.get(self)
        return _CategoricalColumn.IdWeightPair(
            self.id_tensor(transformed), self.weight_tensor(transformed)
        )


class _SparseColumn(
    _Categorical,
    namedtuple(
        "_SparseColumn",
        ["column_name", "is_integerized", "bucket_size", "lookup_config", "combiner", "dtype"],
    ),
):
    """A column of ids of one feature."""

    def __new__(
        cls,
        column_name: str,
        is_integerized: bool = False,
        bucket_size: int | None = None,
        lookup_config: _SparseIdLookupConfig | None = None,
        combiner: str = "sum",
        dtype: tf.DType = tf.string,
    ) -> Any:
        _check(column_name, is_integerized, bucket_size, lookup_config, dtype)
        return super().__new__(
            cls, column_name, is_integerized, bucket_size, lookup_config, combiner, dtype
        )

    @property
    def name(self) -> str:
        return self.column_name

    @property
    def length(self) -> int:
        if self.bucket_size is not None:
            return self.bucket_size
        return self.lookup_config.vocab_size + self.lookup_config.num_oov_buckets

    @property
    def config(self) -> dict[str, Any]:
        return {self.column_name: tf.VarLenFeature(self.dtype)}

    def is_compatible(self, other_column: Any) -> bool:
        """Return True if two columns can share an embedding."""
        if self.lookup_config and other_column.lookup_config:
            return self.lookup_config == other_column.lookup_config
        same_type = self.dtype == other_column.dtype or (
            self.dtype.is_integer and other_column.dtype.is_integer
        )
        compatible = self.length == other_column.length and same_type
        if compatible:
            tf.logging.warn(
                "Column %s and %s may not have the same vocabulary.", self.name, other_column.name
            )
        return compatible

    def _transform_feature(self, inputs: Any) -> tf.SparseTensor:
        return self._do_transform(self._get_input_sparse_tensor(inputs.get(self.name)))

    def _do_transform(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        raise NotImplementedError

    def _get_input_sparse_tensor(self, input_tensor: Any) -> tf.SparseTensor:
        if isinstance(input_tensor, tf.SparseTensor):
            return input_tensor
        nothing = "" if input_tensor.dtype == tf.string else -1
        dense = _reshape_real_valued_tensor(input_tensor, 2, self.name)
        return dense_to_sparse_tensor(dense, ignore_value=nothing)

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_in_dnn("embedding_column or one_hot_column")

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.combiner)


class _SparseColumnIntegerized(_SparseColumn):
    def _do_transform(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        ids = tf.mod(input_tensor.values, self.bucket_size, name="mod")
        return _with_values(input_tensor, ids)


class _SparseColumnHashed(_SparseColumn):
    """``hash_keys`` is an attribute and no field, so it takes no part in the key."""

    hash_keys: HashKeys = None

    def _do_transform(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        values = input_tensor.values
        texts = tf.as_string(values) if self.dtype.is_integer else values
        if not self.hash_keys:
            ids = tf.string_to_hash_bucket_fast(texts, self.bucket_size, name="lookup")
            return _with_values(input_tensor, ids)
        hashed = [
            _with_values(
                input_tensor, tf.string_to_hash_bucket_strong(texts, self.bucket_size, key)
            )
            for key in self.hash_keys
        ]
        return tf.sparse_concat(axis=1, sp_inputs=hashed, name="lookup")


class _SparseColumnKeys(_SparseColumn):
    def _do_transform(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        table = index_table_from_tensor(
            vocabulary_list=tuple(self.lookup_config.keys),
            default_value=self.lookup_config.default_value,
            dtype=self.dtype,
            name="lookup",
        )
        return table.lookup(input_tensor)


class _SparseColumnVocabulary(_SparseColumn):
    def _do_transform(self, input_tensor: tf.SparseTensor) -> tf.SparseTensor:
        if self.dtype.is_integer:
            input_tensor = _with_values(input_tensor, tf.as_string(input_tensor.values))
        table = index_table_from_file(
            vocabulary_file=self.lookup_config.vocabulary_file,
            num_oov_buckets=self.lookup_config.num_oov_buckets,
            vocab_size=self.lookup_config.vocab_size,
            default_value=self.lookup_config.default_value,
            name=f"{self.name}_lookup",
        )
        return table.lookup(input_tensor)


class _WeightedSparseColumn(
    _Categorical,
    namedtuple("_WeightedSparseColumn", ["sparse_id_column", "weight_column_name", "dtype"]),
):
    """Ids of one feature, weights of another; transformed, a pair."""

    @property
    def name(self) -> str:
        return f"{self.sparse_id_column.name}_weighted_by_{self.weight_column_name}"

    @property
    def length(self) -> int:
        return self.sparse_id_column.length

    @property
    def config(self) -> dict[str, Any]:
        weights = {self.weight_column_name: tf.VarLenFeature(self.dtype)}
        return {**self.sparse_id_column.config, **weights}

    @property
    def lookup_config(self) -> _SparseIdLookupConfig | None:
        return self.sparse_id_column.lookup_config

    def id_tensor(self, input_tensor: Any) -> tf.SparseTensor:
        return input_tensor[0]

    def weight_tensor(self, input_tensor: Any) -> tf.SparseTensor:
        return input_tensor[1]

    def is_compatible(self, other_column: Any) -> bool:
        if isinstance(other_column, _WeightedSparseColumn):
            other_column = other_column.sparse_id_column
        return self.sparse_id_column.is_compatible(other_column)

    def _transform_feature(self, inputs: Any) -> tuple[tf.SparseTensor, tf.SparseTensor]:
        weights = inputs.get(self.weight_column_name)
        if not isinstance(weights, tf.SparseTensor):
            weights = dense_to_sparse_tensor(weights)
        if not self.dtype.is_floating:
            weights = tf.cast(weights, tf.float32)
        return inputs.get(self.sparse_id_column), weights

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_in_dnn("embedding_column or one_hot_column")

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.sparse_id_column.combiner)


def _with_values(sparse: tf.SparseTensor, values: tf.Tensor) -> tf.SparseTensor:
    return tf.SparseTensor(sparse.indices, values, sparse.dense_shape)


def _check(
    name: str,
    is_integerized: bool,
    bucket_size: int | None,
    lookup: _SparseIdLookupConfig | None,
    dtype: tf.DType,
) -> None:
    if lookup and not isinstance(lookup, _SparseIdLookupConfig):
        raise TypeError(
            "lookup_config must be an instance of _SparseIdLookupConfig. Given one is in type "
            f"{type(lookup)} for column_name {name}"
        )
    faults = {
        "bucket_size must be set if is_integerized is True.": is_integerized
        and bucket_size is None,
        f"dtype must be an integer if is_integerized is True. dtype: {dtype},": is_integerized
        and not dtype.is_integer,
        f"dtype must be string or integer. dtype: {dtype},": dtype != tf.string
        and not dtype.is_integer,
        "one of bucket_size or lookup_config must be set.": bucket_size is None and not lookup,
        "one and only one of bucket_size or lookup_config must be set.": bucket_size is not None
        and lookup,
        f"bucket_size must be at least 1. bucket_size: {bucket_size},": bucket_size is not None
        and bucket_size < 1,
        "vocab_size must be defined.": lookup
        and lookup.vocabulary_file
        and lookup.vocab_size is None,
    }
    for fault, present in faults.items():
        if present:
            raise ValueError(f"{fault} column_name: {name}")


# Columns of combinations of other columns.


class _CrossedColumn(
    _Categorical,
    namedtuple(
        "_CrossedColumn",
        [
            "columns",
            "hash_bucket_size",
            "hash_key",
            "combiner",
            "ckpt_to_load_from",
            "tensor_name_in_ckpt",
        ],
    ),
):
    """Every combination of the values of some columns, hashed; columns are kept by name."""

    def __new__(
        cls,
        columns: Iterable[Any],
        hash_bucket_size: int,
        hash_key: int | None,
        combiner: str = "sum",
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
    ) -> Any:
        columns = list(columns)
        for column in columns:
            if not isinstance(column, _SparseColumn | _CrossedColumn | _BucketizedColumn):
                raise TypeError(
                    "columns must be a set of _SparseColumn, _CrossedColumn, or "
                    f"_BucketizedColumn instances. (column {column} is a {type(column).__name__})"
                )
        if len(columns) < 2:
            raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
        if hash_bucket_size < 2:
            raise ValueError(
                f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}"
            )
        if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
            raise ValueError(
                "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
            )
        return super().__new__(
            cls,
            tuple(sorted(columns, key=lambda column: column.name)),
            hash_bucket_size,
            hash_key,
            combiner,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
        )

    @property
    def name(self) -> str:
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def length(self) -> int:
        return self.hash_bucket_size

    @property
    def config(self) -> dict[str, Any]:
        return {name: spec for column in self.columns for name, spec in column.config.items()}

    def _leaves(self) -> Iterator[Any]:
        for column in self.columns:
            if isinstance(column, _CrossedColumn):
                yield from column._leaves()
            else:
                yield column

    def _transform_feature(self, inputs: Any) -> tf.SparseTensor:
        # Values themselves are crossed, and not the ids their own column would give them.
        tensors = [
            inputs.get(leaf.name)
            if isinstance(leaf, _SparseColumn)
            else leaf.to_sparse_tensor(inputs.get(leaf))
            for leaf in self._leaves()
        ]
        return sparse_feature_cross(
            tensors,
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            hash_key=self.hash_key,
            name="cross",
        )

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_in_dnn("embedding_column")

    def _checkpoint_path(self) -> tuple[str, str] | None:
        if self.ckpt_to_load_from is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt

    def _wide_embedding_lookup_arguments(
        self, input_tensor: Any
    ) -> _LinearEmbeddingLookupArguments:
        return self._linear(input_tensor, self.combiner)
