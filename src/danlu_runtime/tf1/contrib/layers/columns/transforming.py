"""The transformation of columns, in the order of their keys."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.layers.layers import _inner_flatten

from danlu_runtime.tf1.contrib.layers.columns.base import Tensors


class _Transformer:
    """Makes each column's tensor once."""

    def __init__(self, columns_to_tensors: Tensors) -> None:
        self._columns_to_tensors = columns_to_tensors

    def transform(self, feature_column: Any) -> Any:
        tensors = self._columns_to_tensors
        if feature_column not in tensors:
            feature_column.insert_transformed_feature(tensors)
        if feature_column not in tensors:
            raise ValueError(f"Column {feature_column.name} is not supported.")
        return tensors[feature_column]


def by_key(feature_columns: Iterable[Any]) -> list[Any]:
    """Return each column once, in the order an input layer has them."""
    return sorted(set(feature_columns), key=lambda column: column.key)


def check_feature_columns(feature_columns: Iterable[Any]) -> None:
    """Refuse columns that could not be told apart."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen: set[str] = set()
    for column in feature_columns:
        if column.key in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually "
                "means that the column is almost identical to another column, and one must be "
                "discarded."
            )
        seen.add(column.key)


def with_global_variables(weight_collections: Iterable[str] | None) -> list[str] | None:
    """Collections that are asked for come in addition to that of all variables."""
    if not weight_collections:
        return None
    return sorted({*weight_collections, tf.GraphKeys.GLOBAL_VARIABLES})


def reshape_to_rank(tensor: Any, column_name: str, output_rank: int) -> Any:
    """Return the tensor with one dimension more, or flattened at its inner ones."""
    sparse = isinstance(tensor, tf.SparseTensor)
    rank = tensor.get_shape().ndims
    if rank is None and sparse:
        rank = tensor.dense_shape.get_shape().as_list()[0]
    if rank is None:
        raise ValueError(
            f"Error while processing column {column_name}. Rank of input Tensor can not be None."
        )
    if output_rank > rank + 1:
        raise ValueError(
            f"Error while processing column {column_name}. Rank of input Tensor ({rank}) should "
            f"be the same as output_rank ({output_rank}). For example, sequence data should "
            "typically be 3 dimensional (rank 3) while non-sequence data is typically 2 "
            "dimensional (rank 2)."
        )
    if output_rank == rank + 1 and sparse:
        return tf.sparse_reshape(tensor, tf.concat([tensor.dense_shape, [1]], 0))
    if output_rank == rank + 1:
        return tf.expand_dims(tensor, -1)
    return _inner_flatten(tensor, output_rank) if output_rank < rank else tensor
