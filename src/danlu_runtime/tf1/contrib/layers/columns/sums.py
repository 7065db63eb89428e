"""The weighted sum of columns: the logits of a linear model."""

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.ops.variables import model_variable

from danlu_runtime.tf1.contrib.layers.columns.base import (
    Tensors,
    _LinearEmbeddingLookupArguments,
)
from danlu_runtime.tf1.contrib.layers.columns.transforming import (
    _Transformer,
    by_key,
    check_feature_columns,
    reshape_to_rank,
    with_global_variables,
)
from danlu_runtime.tf1.contrib.layers.columns.weights import (
    _maybe_restore_from_checkpoint,
    parts_of,
)
from danlu_runtime.tf1.contrib.layers.embedding_ops import safe_embedding_lookup_sparse

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
