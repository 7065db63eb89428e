"""`tf.contrib.learn.DNNClassifier`, `DNNRegressor` and `DNNEstimator`."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import head as head_lib
from danlu_runtime.tf1.contrib.learn.estimators._ready_made import (
    ReadyMade,
    ReadyMadeClassifier,
    ReadyMadeRegressor,
)

__all__ = ["DNNClassifier", "DNNEstimator", "DNNRegressor"]


class DNNClassifier(ReadyMadeClassifier):
    """Layers of `hidden_units` and a softmax; Adagrad with rate 0.05 by default."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Callable[[Any], Any] | None = tf.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
        label_keys: Sequence[str] | None = None,
    ) -> None:
        head = head_lib.multi_class_head(
            n_classes,
            weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
            label_keys=label_keys,
        )
        super().__init__(
            head,
            dnn_columns=feature_columns,
            hidden_units=hidden_units,
            dnn_optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class DNNRegressor(ReadyMadeRegressor):
    """Layers of `hidden_units` and a mean squared error."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Callable[[Any], Any] | None = tf.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        label_dimension: int = 1,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        head = head_lib.regression_head(
            label_dimension=label_dimension,
            weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
        )
        super().__init__(
            head,
            dnn_columns=feature_columns,
            hidden_units=hidden_units,
            dnn_optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class DNNEstimator(ReadyMade):
    """Layers of `hidden_units` under a head of the user's; `predict` gives all its predictions."""

    def __init__(
        self,
        head: Any,
        hidden_units: Sequence[int],
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        optimizer: Any = None,
        activation_fn: Callable[[Any], Any] | None = tf.nn.relu,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
        embedding_lr_multipliers: Any = None,
        input_layer_min_slice_size: int | None = None,
    ) -> None:
        super().__init__(
            head,
            dnn_columns=feature_columns,
            hidden_units=hidden_units,
            dnn_optimizer=optimizer,
            activation_fn=activation_fn,
            dropout=dropout,
            gradient_clip_norm=gradient_clip_norm,
            gradient_multipliers=embedding_lr_multipliers,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )

    def _predict_one(self, key: str, x: Any, input_fn: Any, batch_size: Any, all_: bool) -> Any:
        return super(ReadyMade, self).predict(x, input_fn, batch_size, None, all_)
