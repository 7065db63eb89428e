"""`tf.contrib.learn.LinearClassifier`, `LinearRegressor` and `LinearEstimator`."""

from collections.abc import Callable, Sequence
from typing import Any

from danlu_runtime.tf1.contrib.learn.estimators import head as head_lib
from danlu_runtime.tf1.contrib.learn.estimators._ready_made import (
    ReadyMade,
    ReadyMadeClassifier,
    ReadyMadeRegressor,
)

__all__ = ["LinearClassifier", "LinearEstimator", "LinearRegressor"]


class LinearClassifier(ReadyMadeClassifier):
    """A weighted sum of the columns; Ftrl with rate min(0.2, 1/sqrt(columns)) by default."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        _joint_weight: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
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
            linear_columns=feature_columns,
            linear_optimizer=optimizer,
            joint_weights=_joint_weight,
            gradient_clip_norm=gradient_clip_norm,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class LinearRegressor(ReadyMadeRegressor):
    """A weighted sum of the columns, trained on the mean squared error."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        head = head_lib.regression_head(
            label_dimension=label_dimension,
            weight_column_name=weight_column_name,
            enable_centered_bias=enable_centered_bias,
        )
        super().__init__(
            head,
            linear_columns=feature_columns,
            linear_optimizer=optimizer,
            joint_weights=_joint_weights,
            gradient_clip_norm=gradient_clip_norm,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )


class LinearEstimator(ReadyMade):
    """A weighted sum of the columns under a head of the user's."""

    def __init__(
        self,
        feature_columns: Sequence[Any],
        head: Any,
        model_dir: str | None = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        gradient_clip_norm: float | None = None,
        _joint_weights: bool = False,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(
            head,
            linear_columns=feature_columns,
            linear_optimizer=optimizer,
            joint_weights=_joint_weights,
            gradient_clip_norm=gradient_clip_norm,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )

    def _predict_one(self, key: str, x: Any, input_fn: Any, batch_size: Any, all_: bool) -> Any:
        return super(ReadyMade, self).predict(x, input_fn, batch_size, None, all_)
