"""``tf.contrib.layers`` feature columns: the functions that make them, and what to parse."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.layers._column import (
    _DeepEmbeddingLookupArguments,
    _embeddings_from_arguments,
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
    _maybe_restore_from_checkpoint,
    is_number,
)
from danlu_runtime.tf1.contrib.layers._dense_columns import (
    _EmbeddingColumn,
    _OneHotColumn,
    _ScatteredEmbeddingColumn,
)
from danlu_runtime.tf1.contrib.layers._real_columns import (
    _BucketizedColumn,
    _RealValuedColumn,
    _RealValuedVarLenColumn,
    default_numbers,
)
from danlu_runtime.tf1.contrib.layers._sparse_columns import (
    HashKeys,
    _CrossedColumn,
    _SparseColumn,
    _SparseColumnHashed,
    _SparseColumnIntegerized,
    _SparseColumnKeys,
    _SparseColumnVocabulary,
    _SparseIdLookupConfig,
    _WeightedSparseColumn,
)

__all__ = [
    "_BucketizedColumn",
    "_CrossedColumn",
    "_DeepEmbeddingLookupArguments",
    "_EmbeddingColumn",
    "_FeatureColumn",
    "_LinearEmbeddingLookupArguments",
    "_OneHotColumn",
    "_RealValuedColumn",
    "_RealValuedVarLenColumn",
    "_ScatteredEmbeddingColumn",
    "_SparseColumn",
    "_SparseColumnHashed",
    "_SparseColumnIntegerized",
    "_SparseColumnKeys",
    "_SparseColumnVocabulary",
    "_SparseIdLookupConfig",
    "_WeightedSparseColumn",
    "_create_sequence_feature_spec_for_parsing",
    "_embeddings_from_arguments",
    "_maybe_restore_from_checkpoint",
    "_real_valued_var_len_column",
    "bucketized_column",
    "create_feature_spec_for_parsing",
    "crossed_column",
    "embedding_column",
    "make_place_holder_tensors_for_base_features",
    "one_hot_column",
    "real_valued_column",
    "scattered_embedding_column",
    "shared_embedding_columns",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
]


# Private names are kept in their module: scripts test what a column is by its class.
GONE = {
    "DataFrameColumn": "removed.dataframe",
}

Normalizer = Callable[[tf.Tensor], tf.Tensor]


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: tf.DType = tf.int64
) -> _SparseColumn:
    """Ids as they are, modulo ``bucket_size``."""
    return _SparseColumnIntegerized(
        column_name, is_integerized=True, bucket_size=bucket_size, combiner=combiner, dtype=dtype
    )


def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: tf.DType = tf.string,
    hash_keys: HashKeys = None,
) -> _SparseColumn:
    """Ids by hash; with ``hash_keys``, pairs of integers, one id for each pair."""
    if hash_keys is not None:
        _check_hash_keys(hash_keys)
    column = _SparseColumnHashed(
        column_name, bucket_size=hash_bucket_size, combiner=combiner, dtype=dtype
    )
    column.hash_keys = hash_keys
    return column


def _check_hash_keys(hash_keys: Any) -> None:
    if not isinstance(hash_keys, list) or not hash_keys:
        raise ValueError("hash_keys must be a non-empty list.")
    for pair in hash_keys:
        if not (
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(k, int) for k in pair)
        ):
            raise ValueError("Each element of hash_keys must be a pair of integers.")


def sparse_column_with_keys(
    column_name: str,
    keys: Iterable[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: tf.DType = tf.string,
) -> _SparseColumn:
    """Ids by position in a list; others get ``default_value``."""
    keys = tuple(keys)
    config = _SparseIdLookupConfig(keys=keys, vocab_size=len(keys), default_value=default_value)
    return _SparseColumnKeys(column_name, lookup_config=config, combiner=combiner, dtype=dtype)


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: tf.DType = tf.string,
) -> _SparseColumn:
    """Ids by line of a file; ``vocab_size`` must be said."""
    if vocab_size is None:
        raise ValueError(f"vocab_size should be defined. column_name: {column_name}")
    config = _SparseIdLookupConfig(
        vocabulary_file=vocabulary_file,
        num_oov_buckets=num_oov_buckets,
        vocab_size=vocab_size,
        default_value=default_value,
    )
    return _SparseColumnVocabulary(
        column_name, lookup_config=config, combiner=combiner, dtype=dtype
    )


def weighted_sparse_column(
    sparse_id_column: _SparseColumn, weight_column_name: str, dtype: tf.DType = tf.float32
) -> _WeightedSparseColumn:
    """Ids of a column, weighted by another feature."""
    if not is_number(dtype):
        raise ValueError(f"dtype is not convertible to float. Given {dtype}")
    return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


def one_hot_column(sparse_id_column: Any) -> _OneHotColumn:
    """A number for each id of a column."""
    return _OneHotColumn(sparse_id_column)


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> _EmbeddingColumn:
    """A vector for each id of a column; by default of spread ``1 / sqrt(length)``."""
    return _EmbeddingColumn(
        sparse_id_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm=max_norm,
        trainable=trainable,
    )


def scattered_embedding_column(
    column_name: str,
    size: int,
    dimension: int,
    hash_key: int | None,
    combiner: str = "mean",
    initializer: Any = None,
) -> _ScatteredEmbeddingColumn:
    """A vector for each text, made of ``size`` weights in all."""
    if dimension < 1 or size < 1:
        raise ValueError(
            "Dimension and size must be greater than 0. "
            f"dimension: {dimension}, size: {size}, column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            "Combiner must be one of 'mean', 'sqrtn' or 'sum'. "
            f"combiner: {combiner}, column_name: {column_name}"
        )
    return _ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: tf.DType = tf.float32,
    normalizer: Normalizer | None = None,
) -> _RealValuedColumn:
    """``dimension`` numbers; a single default stands for all of them."""
    if not isinstance(dimension, int):
        raise TypeError(
            f"dimension must be an integer. dimension: {dimension}, column_name: {column_name}"
        )
    if dimension < 1:
        raise ValueError(
            f"dimension must be greater than 0. dimension: {dimension}, column_name: {column_name}"
        )
    if not is_number(dtype):
        raise ValueError(
            f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}"
        )
    default = default_numbers(default_value, dimension, dtype, column_name)
    return _RealValuedColumn(column_name, dimension, default, dtype, normalizer)


def _real_valued_var_len_column(
    column_name: str,
    default_value: float | None = None,
    dtype: tf.DType = tf.float32,
    normalizer: Normalizer | None = None,
    is_sparse: bool = False,
) -> _RealValuedVarLenColumn:
    """As many numbers as there are: padded with the default, or sparse."""
    if not is_number(dtype):
        raise TypeError(
            f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}"
        )
    if default_value is None and not is_sparse:
        raise ValueError(
            "default_value must be provided when is_sparse=False to parse a padded Tensor. "
            f"column_name: {column_name}"
        )
    if isinstance(default_value, list):
        raise ValueError(
            f"Only scalar default value. default_value: {default_value}, column_name: {column_name}"
        )
    if default_value is not None:
        default_value = int(default_value) if dtype.is_integer else float(default_value)
    return _RealValuedVarLenColumn(column_name, default_value, dtype, normalizer, is_sparse)


def bucketized_column(
    source_column: _RealValuedColumn, boundaries: Sequence[float]
) -> _BucketizedColumn:
    """The bucket each number falls into; boundaries must be sorted."""
    return _BucketizedColumn(source_column, boundaries)


def crossed_column(
    columns: Iterable[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> _CrossedColumn:
    """Every combination of the values of some columns, hashed."""
    return _CrossedColumn(
        columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
    )


# Embedding columns that have one variable together.


_NAMED = 3  # a shared embedding is called by its first columns


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Sequence[_EmbeddingColumn]:
    """Return a column each, over one embedding; a list where there is only one, else a tuple."""
    _check(sparse_id_columns)
    single = len(sparse_id_columns) == 1
    first = sparse_id_columns[0]
    if not single and not all(_compatible(first, other) for other in sparse_id_columns[1:]):
        raise ValueError("The input sparse id columns are not compatible.")
    if not single and not shared_embedding_name:
        shared_embedding_name = _name(sparse_id_columns)
    columns = [
        _EmbeddingColumn(
            column,
            dimension,
            combiner,
            initializer,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            shared_embedding_name,
            None if single else first.length,
            max_norm=max_norm,
            trainable=trainable,
        )
        for column in sparse_id_columns
    ]
    return columns if single else tuple(columns)


def _check(columns: Any) -> None:
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        raise TypeError(
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(columns)}."
        )
    if len(columns) < 1:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in columns:
        if not isinstance(column, _SparseColumn | _WeightedSparseColumn):
            raise TypeError(
                "Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, "
                f"but {column} is not."
            )


def _compatible(first: Any, other: Any) -> bool:
    # Only a weighted column knows how to look through a weighted one.
    if isinstance(first, _WeightedSparseColumn):
        return first.is_compatible(other)
    return other.is_compatible(first)


def _name(columns: Sequence[Any]) -> str:
    plain = sorted(c.name for c in columns if isinstance(c, _SparseColumn))
    weighted = sorted(c.name for c in columns if not isinstance(c, _SparseColumn))
    names = [*plain, *weighted]
    others = f"_plus_{len(names) - _NAMED}_others" if len(names) > _NAMED else ""
    return "_".join(names[:_NAMED]) + others + "_shared_embedding"


# What to parse from examples for columns.


def create_feature_spec_for_parsing(
    feature_columns: Iterable[Any] | Mapping[str, Any],
) -> dict[str, Any]:
    """Return what ``tf.parse_example`` needs for these columns."""
    columns = feature_columns.values() if isinstance(feature_columns, dict) else feature_columns
    spec: dict[str, Any] = {}
    for column in columns:
        if not isinstance(column, _FeatureColumn):
            raise TypeError(
                "feature_columns should only contain instances of _FeatureColumn. "
                f"Given column is {column}"
            )
        spec.update(column.config)
    return spec


def _create_sequence_feature_spec_for_parsing(
    sequence_feature_columns: Iterable[Any], allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """Return the same for features of every step; a default allows a feature to be missing."""
    spec: dict[str, Any] = {}
    for name, feature in create_feature_spec_for_parsing(sequence_feature_columns).items():
        if isinstance(feature, tf.VarLenFeature):
            spec[name] = feature
            continue
        has_default = feature.default_value is not None
        if has_default:
            tf.logging.warning(
                'Found default value %s for feature "%s". Ignoring this value and setting '
                "`allow_missing=True` instead.",
                feature.default_value,
                name,
            )
        spec[name] = tf.FixedLenSequenceFeature(
            feature.shape, feature.dtype, allow_missing_by_default or has_default
        )
    return spec


def make_place_holder_tensors_for_base_features(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return placeholders for the features of these columns, by name."""
    return {
        name: tf.sparse_placeholder(feature.dtype, name=f"Placeholder_{name}")
        if isinstance(feature, tf.VarLenFeature)
        else tf.placeholder(
            feature.dtype, shape=(None, feature.shape[0]), name=f"Placeholder_{name}"
        )
        for name, feature in create_feature_spec_for_parsing(feature_columns).items()
    }
