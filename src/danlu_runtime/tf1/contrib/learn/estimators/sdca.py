"""Trains the linear estimators with `tf.contrib.linear_optimizer.SDCAOptimizer`."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.heads import BinaryHead, RegressionHead, SvmHead
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.towers import LINEAR, is_core

_LOSSES = {BinaryHead: "logistic_loss", RegressionHead: "squared_loss", SvmHead: "hinge_loss"}


def build(
    head: Any, optimizer: Any, columns: Sequence[Any], features: Any, labels: Any, mode: str
) -> ModelFnOps:
    """Return the ops of a linear model that the solver trains.

    Raises:
        ValueError: the head or the columns are of a kind the solver does not take.
    """
    from danlu_runtime.tf1.contrib import layers

    if type(head) not in _LOSSES:
        raise ValueError("SDCAOptimizer trains two classes or numbers; this head has neither.")
    if any(is_core(column) for column in columns):
        raise ValueError(
            "SDCAOptimizer takes columns of tf.contrib.layers here. For those of "
            "tf.feature_column use tf.estimator.experimental.LinearSDCA."
        )
    with tf.variable_scope(LINEAR) as scope:
        logits, variables, bias = layers.weighted_sum_from_feature_columns(
            columns_to_tensors=features,
            feature_columns=columns,
            num_outputs=1,
            weight_collections=[LINEAR],
            scope=scope,
        )
    models: list[Any] = []

    def train_op_fn(loss: Any) -> Any:
        model, step = optimizer.get_train_step(
            variables,
            head.weight_column_name,
            _LOSSES[type(head)],
            features,
            labels,
            tf.train.get_global_step(),
            bias,
        )
        models.append((model, step))
        return step

    ops = head.create_model_fn_ops(features, mode, labels, train_op_fn, logits=logits)
    if mode != ModeKeys.TRAIN:
        return ops
    return ops._replace(training_hooks=[*ops.training_hooks, _UpdateWeights(*models[0])])


class _UpdateWeights(tf.train.SessionRunHook):
    """Moves what the solver found into the variables, after each step."""

    def __init__(self, model: Any, train_op: Any) -> None:
        self._model = model
        self._train_op = train_op

    def begin(self) -> None:
        self._update = self._model.update_weights(self._train_op)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._update)
