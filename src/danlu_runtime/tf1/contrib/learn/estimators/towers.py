"""The two bodies of the ready-made estimators: deep (`dnn`) and wide (`linear`).

Columns of `tf.contrib.layers` and of `tf.feature_column` are both taken, as in TensorFlow 1.15.
Variables keep its names: `dnn/hiddenlayer_0/weights`, `dnn/logits/biases`, `linear/…`.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

DNN = "dnn"
LINEAR = "linear"
DNN_LEARNING_RATE = 0.05
LARGEST_LINEAR_LEARNING_RATE = 0.2
_SMALLEST_PART_OF_INPUT = 64 << 20


def features_dict(features: Any) -> dict[str, Any]:
    """Return the features by name; a bare tensor has the empty name."""
    return features if isinstance(features, dict) else {"": features}


def deep_logits(
    features: dict[str, Any],
    columns: Sequence[Any],
    units: Sequence[int],
    outputs: int,
    activation_fn: Callable[[Any], Any] | None,
    dropout: float | None,
    training: bool,
    num_ps: int,
) -> Any:
    """Return the logits of fully connected layers over the columns."""
    from danlu_runtime.tf1.contrib.layers import dropout as drop
    from danlu_runtime.tf1.contrib.layers import fully_connected

    parts = tf.min_max_variable_partitioner(
        max_partitions=max(num_ps, 1), min_slice_size=_SMALLEST_PART_OF_INPUT
    )
    with tf.variable_scope(f"{DNN}/input_from_feature_columns", partitioner=parts) as scope:
        net = input_layer(features, columns, DNN, scope)
    parts = tf.min_max_variable_partitioner(max_partitions=max(num_ps, 1))
    for index, size in enumerate(units):
        with tf.variable_scope(f"{DNN}/hiddenlayer_{index}", partitioner=parts) as scope:
            net = fully_connected(
                net,
                size,
                activation_fn=activation_fn or tf.nn.relu,
                variables_collections=[DNN],
                scope=scope,
            )
            if dropout is not None and training:
                net = drop(net, keep_prob=1.0 - dropout)
        _summarize(net, scope.name)
    with tf.variable_scope(f"{DNN}/logits", partitioner=parts) as scope:
        logits = fully_connected(
            net, outputs, activation_fn=None, variables_collections=[DNN], scope=scope
        )
    _summarize(logits, scope.name)
    return logits


def wide_logits(
    features: dict[str, Any], columns: Sequence[Any], outputs: int, joint: bool, num_ps: int
) -> Any:
    """Return the weighted sum of the columns."""
    parts = tf.min_max_variable_partitioner(
        max_partitions=max(num_ps, 1), min_slice_size=_SMALLEST_PART_OF_INPUT
    )
    with tf.variable_scope(LINEAR, partitioner=parts) as scope:
        if all(is_core(column) for column in columns):
            return tf.feature_column.linear_model(
                features, columns, units=outputs, weight_collections=[LINEAR]
            )
        from danlu_runtime.tf1.contrib import layers

        weigh = (
            layers.joint_weighted_sum_from_feature_columns
            if joint
            else layers.weighted_sum_from_feature_columns
        )
        return weigh(
            columns_to_tensors=features,
            feature_columns=columns,
            num_outputs=outputs,
            weight_collections=[LINEAR],
            scope=scope,
        )[0]


def input_layer(
    features: dict[str, Any], columns: Sequence[Any], collection: str, scope: Any
) -> Any:
    """Return the columns side by side as one dense tensor."""
    if all(is_core(column) for column in columns):
        return tf.feature_column.input_layer(features, columns, weight_collections=[collection])
    from danlu_runtime.tf1.contrib.layers import input_from_feature_columns

    return input_from_feature_columns(
        columns_to_tensors=features,
        feature_columns=columns,
        weight_collections=[collection],
        scope=scope,
    )


def is_core(column: Any) -> bool:
    """Tell whether a column is of `tf.feature_column` alone; those of contrib are both."""
    from danlu_runtime.tf1.contrib.layers.columns.base import _FeatureColumn

    return not isinstance(column, _FeatureColumn)


def deep_train_op(
    loss: Any, optimizer: Any, clip_norm: float | None, multipliers: Any = None
) -> Any:
    """Return the step of the deep part; the global step is not counted."""
    optimizer = make_optimizer(optimizer or "Adagrad", DNN_LEARNING_RATE)
    with tf.variable_scope(DNN):  # names the slots in a checkpoint
        return _apply(loss, optimizer, DNN, clip_norm, multipliers)


def wide_train_op(loss: Any, optimizer: Any, clip_norm: float | None, columns: int) -> Any:
    """Return the step of the wide part; the global step is not counted."""
    rate = min(LARGEST_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(columns))
    return _apply(loss, make_optimizer(optimizer or "Ftrl", rate), LINEAR, clip_norm)


def make_optimizer(optimizer: Any, learning_rate: float) -> Any:
    """Return an optimizer of a name, of a function that makes it, or itself."""
    if isinstance(optimizer, str):
        from danlu_runtime.tf1.contrib.layers import OPTIMIZER_CLS_NAMES

        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of {', '.join(OPTIMIZER_CLS_NAMES)}, "
                f"you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=learning_rate)
    return optimizer() if callable(optimizer) else optimizer


def _apply(
    loss: Any, optimizer: Any, part: str, clip_norm: float | None, multipliers: Any = None
) -> Any:
    variables = tf.trainable_variables(f"{part}/")
    gradients = tf.gradients(loss, variables)
    if multipliers:
        gradients = [
            gradient * multipliers.get(variable.op.name, multipliers.get(variable, 1.0))
            for gradient, variable in zip(gradients, variables, strict=True)
        ]
    if clip_norm:
        gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
    return optimizer.apply_gradients(zip(gradients, variables, strict=True))


def _summarize(value: Any, tag: str) -> None:
    tf.summary.scalar(f"{tag}/fraction_of_zero_values", tf.nn.zero_fraction(value))
    tf.summary.histogram(f"{tag}/activation", value)
