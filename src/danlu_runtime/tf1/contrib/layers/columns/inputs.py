"""The input layer of columns: their tensors side by side, in the order of their keys."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.util import nest

from danlu_runtime.tf1.contrib.layers.columns.base import Tensors
from danlu_runtime.tf1.contrib.layers.columns.crossed import _CrossedColumn
from danlu_runtime.tf1.contrib.layers.columns.dense import (
    _EmbeddingColumn,
    _OneHotColumn,
    _ScatteredEmbeddingColumn,
)
from danlu_runtime.tf1.contrib.layers.columns.real import (
    _BucketizedColumn,
    _RealValuedColumn,
    _RealValuedVarLenColumn,
)
from danlu_runtime.tf1.contrib.layers.columns.transforming import (
    _Transformer,
    by_key,
    check_feature_columns,
    reshape_to_rank,
    with_global_variables,
)
from danlu_runtime.tf1.contrib.layers.columns.weights import _embeddings_from_arguments

_OF_SEQUENCES = (_OneHotColumn, _EmbeddingColumn, _RealValuedColumn, _RealValuedVarLenColumn)
_NOT_BELOW_SEQUENCES = (_ScatteredEmbeddingColumn, _BucketizedColumn, _CrossedColumn)


def input_from_feature_columns(
    columns_to_tensors: Tensors,
    feature_columns: Iterable[Any],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: dict[Any, tf.Tensor] | None = None,
) -> tf.Tensor:
    """Return ``[batch, width]``; ``cols_to_outs`` is filled with each column's own part."""
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise ValueError("cols_to_outs must be a dict unless None")
    with tf.variable_scope(scope, "input_from_feature_columns", values=columns_to_tensors.values()):
        return _input(
            columns_to_tensors, feature_columns, weight_collections, trainable, 2, cols_to_outs
        )


def sequence_input_from_feature_columns(
    columns_to_tensors: Tensors,
    feature_columns: Iterable[Any],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    scope: Any = None,
) -> tf.Tensor:
    """Return ``[batch, steps, width]``."""
    for column in feature_columns:
        if not isinstance(column, _OF_SEQUENCES):
            raise ValueError(
                f"FeatureColumn type {type(column).__name__} is not currently supported for "
                "sequence data."
            )
        below = getattr(column, "sparse_id_column", None)
        below = getattr(below, "sparse_id_column", below)  # a weighted one has its own
        if isinstance(below, _NOT_BELOW_SEQUENCES):
            raise ValueError(
                f"Column {below.name} is of type {type(below).__name__}, which is not currently "
                "supported for sequences."
            )
    with tf.variable_scope(
        scope, "sequence_input_from_feature_columns", values=columns_to_tensors.values()
    ):
        return _input(columns_to_tensors, feature_columns, weight_collections, trainable, 3, None)


def _input(
    columns_to_tensors: Tensors,
    feature_columns: Iterable[Any],
    weight_collections: Iterable[str] | None,
    trainable: bool,
    output_rank: int,
    cols_to_outs: dict[Any, tf.Tensor] | None,
) -> tf.Tensor:
    check_feature_columns(feature_columns)
    tensors = dict(columns_to_tensors)
    collections = with_global_variables(weight_collections)
    transformer = _Transformer(tensors)
    outputs: dict[Any, tf.Tensor] = {}
    for column in by_key(feature_columns):
        with tf.variable_scope(None, default_name=column.name, values=columns_to_tensors.values()):
            transformed = transformer.transform(column)
            if output_rank == 3:
                transformed = nest.map_structure(
                    lambda tensor, name=column.name: reshape_to_rank(tensor, name, 3), transformed
                )
            outputs[column] = _output(column, transformed, collections, trainable, output_rank)
    if cols_to_outs is not None:
        cols_to_outs.update(outputs)
    return tf.concat(list(outputs.values()), output_rank - 1)


def _output(
    column: Any,
    transformed: Any,
    collections: list[str] | None,
    trainable: bool,
    output_rank: int,
) -> tf.Tensor:
    try:
        arguments = column._deep_embedding_lookup_arguments(transformed)
    except NotImplementedError as no_embedding:
        try:
            return column._to_dnn_input_layer(
                transformed, collections, trainable, output_rank=output_rank
            )
        except ValueError as error:
            raise ValueError(
                f"Error creating input layer for column: {column.name}.\n{error}, {no_embedding}"
            ) from error
    return _embeddings_from_arguments(column, arguments, collections, trainable, output_rank)
