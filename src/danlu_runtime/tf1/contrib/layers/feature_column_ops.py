"""Feature columns to tensors: parsed, transformed, as an input layer or as a weighted sum."""

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.util import nest
from tf_slim.layers.layers import _inner_flatten
from tf_slim.ops.variables import model_variable

from danlu_runtime.tf1.contrib.layers._column import (
    Tensors,
    _embeddings_from_arguments,
    _LinearEmbeddingLookupArguments,
    _maybe_restore_from_checkpoint,
    parts_of,
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
)
from danlu_runtime.tf1.contrib.layers._sparse_columns import _CrossedColumn
from danlu_runtime.tf1.contrib.layers.embedding_ops import safe_embedding_lookup_sparse
from danlu_runtime.tf1.contrib.layers.feature_column import (
    _create_sequence_feature_spec_for_parsing,
    create_feature_spec_for_parsing,
    real_valued_column,
)

__all__ = [
    "_Transformer",
    "check_feature_columns",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples",
    "sequence_input_from_feature_columns",
    "transform_features",
    "weighted_sum_from_feature_columns",
]


# The transformation of columns, in the order of their keys.


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
    """Raise ValueError if two columns cannot be distinguished."""
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


def parse_feature_columns_from_examples(
    serialized: Any,
    feature_columns: Iterable[Any],
    name: str | None = None,
    example_names: Any = None,
) -> Tensors:
    """Return the features of examples by name, and the transformed columns among them."""
    check_feature_columns(feature_columns)
    tensors = tf.parse_example(
        serialized=serialized,
        features=create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    transformer = _Transformer(tensors)
    for column in by_key(feature_columns):
        transformer.transform(column)
    return tensors


def parse_feature_columns_from_sequence_examples(
    serialized: Any,
    context_feature_columns: Iterable[Any] | None,
    sequence_feature_columns: Iterable[Any] | None,
    name: str | None = None,
    example_name: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one sequence example: of the whole, and of its steps."""
    try:
        serialized = tf.reshape(serialized, [])
    except ValueError as error:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after "
            f"parsing for sequence examples. Error: {error}"
        ) from error
    context, sequence = context_feature_columns or [], sequence_feature_columns or []
    check_feature_columns(context)
    check_feature_columns(sequence)
    return tf.parse_single_sequence_example(
        serialized,
        create_feature_spec_for_parsing(context),
        _create_sequence_feature_spec_for_parsing(sequence, allow_missing_by_default=False),
        example_name,
        name,
    )


def transform_features(features: Tensors, feature_columns: Iterable[Any]) -> dict[Any, Any]:
    """Return the transformed columns, and nothing but them."""
    check_feature_columns(feature_columns)
    tensors = dict(features)
    transformer = _Transformer(tensors)
    for column in by_key(feature_columns):
        transformer.transform(column)
    return {column: tensors[column] for column in tensors if column in set(feature_columns)}


def infer_real_valued_columns(features: Any) -> list[Any]:
    """Return a column of numbers for each feature; a single tensor's column has no name."""
    named = features if isinstance(features, dict) else {"": features}
    return [_real_valued(name, tensor) for name, tensor in named.items()]


def _real_valued(name: str, tensor: Any) -> Any:
    define = f"Please define corresponding FeatureColumn for tensor {name} {tensor}."
    if isinstance(tensor, tf.SparseTensor):
        raise ValueError(f"SparseTensor is not supported for auto detection. {define}")
    if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
        raise ValueError(
            f"Non integer or non floating types are not supported for auto detection. {define}"
        )
    dimension = tf.TensorShape(tensor.get_shape()[1:]).num_elements()
    return real_valued_column(name, dimension=dimension, dtype=tensor.dtype)


# The input layer of columns: their tensors side by side, in the order of their keys.


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


# The weighted sum of columns: the logits of a linear model.


Collections = Iterable[str] | None


def weighted_sum_from_feature_columns(
    columns_to_tensors: Tensors,
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Collections = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[tf.Tensor, dict[Any, list[Any]], Any]:
    """Return the logits, the variables of each column and the bias; all start at zero."""
    check_feature_columns(feature_columns)
    tensors, given = dict(columns_to_tensors), columns_to_tensors.values()
    variables: dict[Any, list[Any]] = {}
    sums = []
    with tf.variable_scope(scope, "weighted_sum_from_feature_columns", values=given):
        transformer = _Transformer(tensors)
        for column in by_key(feature_columns):
            transformed = transformer.transform(column)
            weigh = _Weighing(column, num_outputs, trainable, weight_collections, given)
            variables[column], summed = weigh(transformed)
            sums.append(tf.reshape(summed, [-1, num_outputs]))
            _maybe_restore_from_checkpoint(column._checkpoint_path(), variables[column])
        bias = _bias(num_outputs, trainable, weight_collections)
        return tf.nn.bias_add(tf.add_n(sums), bias), variables, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors: Tensors,
    feature_columns: Iterable[Any],
    num_outputs: int,
    weight_collections: Collections = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[tf.Tensor, list[Any], Any]:
    """Return the same sum with the weights of all columns in one variable."""
    check_feature_columns(feature_columns)
    given = columns_to_tensors.values()
    with tf.variable_scope(scope, "joint_weighted_sum_from_feature_columns", values=given):
        transformer = _Transformer(dict(columns_to_tensors))
        lookups = []
        for column in by_key(feature_columns):
            transformed = transformer.transform(column)
            try:
                lookups.append(column._wide_embedding_lookup_arguments(transformed))
            except NotImplementedError as error:
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns "
                    "instead, or bucketize these columns."
                ) from error
        ids, length = _joined(lookups)
        with tf.variable_scope(None, default_name="linear_weights", values=given):
            weights = model_variable(
                "weights",
                shape=[length, num_outputs],
                dtype=tf.float32,
                initializer=tf.zeros_initializer(),
                trainable=trainable,
                collections=weight_collections,
            )
            parts = parts_of(weights)
            summed = safe_embedding_lookup_sparse(parts, ids, combiner="sum", name="_weights")
        bias = _bias(num_outputs, trainable, weight_collections)
        return tf.nn.bias_add(summed, bias), parts, bias


class _Weighing:
    """Makes the variables of one column and applies them."""

    def __init__(
        self,
        column: Any,
        num_outputs: int,
        trainable: bool,
        collections: Collections,
        given: Iterable[Any],
    ) -> None:
        self._column = column
        self._outputs = num_outputs
        self._settings = {"trainable": trainable, "collections": collections}
        self._scope = {"default_name": column.name, "values": given}

    def __call__(self, transformed: Any) -> tuple[list[Any], tf.Tensor]:
        try:
            arguments = self._column._wide_embedding_lookup_arguments(transformed)
        except NotImplementedError:
            return self._of_numbers(transformed)
        except ValueError as error:
            raise ValueError(
                f"Error creating weighted sum for column: {self._column.name}.\n{error}"
            ) from error
        return self._of_ids(arguments)

    def _of_ids(self, arguments: _LinearEmbeddingLookupArguments) -> tuple[list[Any], tf.Tensor]:
        with tf.variable_scope(None, **self._scope):
            weights = model_variable(
                "weights",
                shape=[arguments.vocab_size, self._outputs],
                dtype=tf.float32,
                initializer=arguments.initializer,
                **self._settings,
            )
            parts = parts_of(weights)
            summed = safe_embedding_lookup_sparse(
                parts,
                arguments.input_tensor,
                sparse_weights=arguments.weight_tensor,
                combiner=arguments.combiner,
                name=f"{self._column.name}_weights",
            )
            return parts, summed

    def _of_numbers(self, transformed: Any) -> tuple[list[Any], tf.Tensor]:
        with tf.variable_scope(None, **self._scope):
            dense = self._column._to_dense_tensor(transformed)
            numbers = reshape_to_rank(dense, self._column.name, output_rank=2)
            weight = model_variable(
                "weight",
                shape=[numbers.get_shape()[1], self._outputs],
                initializer=tf.zeros_initializer(),
                **self._settings,
            )
            return [weight], tf.matmul(numbers, weight, name="matmul")


def _joined(
    lookups: Sequence[_LinearEmbeddingLookupArguments],
) -> tuple[tf.SparseTensor, int]:
    """Return the ids of all columns side by side, each column's after those of the one before."""
    shifted, length = [], 0
    for lookup in lookups:
        instead = "Please use weighted_sum_from_feature_columns instead."
        if lookup.weight_tensor is not None:
            raise ValueError(f"Joint sums for weighted sparse columns are not supported. {instead}")
        if lookup.combiner != "sum":
            raise ValueError(
                f"Combiners other than sum are not supported for joint sums. {instead}"
            )
        ids = lookup.input_tensor
        values = tf.cast(ids.values, tf.int64) + length  # buckets are int32, hashes int64
        shifted.append(tf.SparseTensor(ids.indices, values, ids.dense_shape))
        length += lookup.vocab_size
    return tf.sparse_concat(1, shifted), length


def _bias(num_outputs: int, trainable: bool, weight_collections: Collections) -> Any:
    return model_variable(
        "bias_weight",
        shape=[num_outputs],
        initializer=tf.zeros_initializer(),
        trainable=trainable,
        collections=with_global_variables(weight_collections),
    )
