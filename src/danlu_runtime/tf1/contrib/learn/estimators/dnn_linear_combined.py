"""`tf.contrib.learn.DNNLinearCombinedClassifier`, `…Regressor` and `…Estimator`: wide and deep."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import head as head_lib
from danlu_runtime.tf1.contrib.learn.estimators._ready_made import (
    ReadyMade,
    ReadyMadeClassifier,
    ReadyMadeRegressor,
)

__all__ = [
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
]


class DNNLinearCombinedClassifier(ReadyMadeClassifier):
    """A deep and a wide tower, added; each has its own optimizer."""

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] | None = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Sequence[str] | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = head_lib.multi_class_head(
            n_classes,
            weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
            label_keys=label_keys,
        )
        super().__init__(
            head,
            linear_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            joint_weights=_joint_linear_weights,
            dnn_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            hidden_units=dnn_hidden_units,
            activation_fn=dnn_activation_fn,
            dropout=dnn_dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            count_both_towers=not fix_global_step_increment_bug,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class DNNLinearCombinedRegressor(ReadyMadeRegressor):
    """A deep and a wide tower, added, trained on the mean squared error."""

    def __init__(
        self,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] | None = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        fix_global_step_increment_bug: bool = False,
    ) -> None:
        head = head_lib.regression_head(
            label_dimension=label_dimension,
            weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
        )
        super().__init__(
            head,
            linear_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            joint_weights=_joint_linear_weights,
            dnn_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            hidden_units=dnn_hidden_units,
            activation_fn=dnn_activation_fn,
            dropout=dnn_dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            count_both_towers=not fix_global_step_increment_bug,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class DNNLinearCombinedEstimator(ReadyMade):
    """A deep and a wide tower under a head of the user's."""

    def __init__(
        self,
        head: Any,
        model_dir: str | None = None,
        linear_feature_columns: Sequence[Any] | None = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Sequence[Any] | None = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Callable[[Any], Any] | None = None,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        embedding_lr_multipliers: Any = None,
        fix_global_step_increment_bug: bool = False,
        input_layer_partitioner: Any = None,
    ) -> None:
        super().__init__(
            head,
            linear_columns=linear_feature_columns,
            linear_optimizer=linear_optimizer,
            joint_weights=_joint_linear_weights,
            dnn_columns=dnn_feature_columns,
            dnn_optimizer=dnn_optimizer,
            hidden_units=dnn_hidden_units,
            activation_fn=dnn_activation_fn,
            dropout=dnn_dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            count_both_towers=not fix_global_step_increment_bug,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )

    def _predict_one(self, key: str, x: Any, input_fn: Any, batch_size: Any, all_: bool) -> Any:
        return super(ReadyMade, self).predict(x, input_fn, batch_size, None, all_)
