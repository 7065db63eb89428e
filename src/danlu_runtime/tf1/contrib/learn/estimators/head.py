"""`tensorflow.contrib.learn.python.learn.estimators.head`: makes heads."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import _measures
from danlu_runtime.tf1.contrib.learn.estimators._heads import (
    BinaryHead,
    Head,
    LossOnlyHead,
    MultiClassHead,
    MultiHead,
    MultiLabelHead,
    RegressionHead,
    SvmHead,
)
from danlu_runtime.tf1.contrib.learn.estimators.constants import ProblemType

__all__ = [
    "Head",
    "binary_svm_head",
    "loss_only_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "no_op_train_fn",
    "poisson_regression_head",
    "regression_head",
]


def regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    link_fn: Callable[[Any], Any] | None = None,
) -> Head:
    """Return a head for linear regression: mean squared error."""
    return RegressionHead(
        link_fn=link_fn or tf.identity,
        loss_fn=_measures.mean_squared,
        problem_type=ProblemType.LINEAR_REGRESSION,
        logits_dimension=label_dimension,
        label_name=label_name,
        weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias,
        head_name=head_name,
    )


def poisson_regression_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
) -> Head:
    """Return a head for counts: the prediction is the exponential of the logits."""
    return RegressionHead(
        link_fn=tf.exp,
        loss_fn=_measures.poisson,
        problem_type=ProblemType.LINEAR_REGRESSION,
        logits_dimension=label_dimension,
        label_name=label_name,
        weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias,
        head_name=head_name,
    )


def multi_class_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Sequence[float] | None = None,
    metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Any] | None = None,
    label_keys: Sequence[str] | None = None,
) -> Head:
    """Return a head for classes: logistic for two, softmax for more."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    options: dict[str, Any] = {
        "label_name": label_name,
        "weight_column_name": weight_column_name,
        "enable_centered_bias": enable_centered_bias,
        "head_name": head_name,
    }
    own_loss = _measures.custom(loss_fn) if loss_fn else None
    if n_classes > 2:
        return MultiClassHead(
            n_classes,
            metric_class_ids,
            label_keys,
            loss_fn=own_loss or _measures.softmax,
            problem_type=ProblemType.CLASSIFICATION,
            **options,
        )
    if metric_class_ids:
        raise ValueError("metric_class_ids invalid for n_classes==2.")
    if label_keys:
        raise ValueError("label_keys is not supported for n_classes=2.")
    return BinaryHead(
        thresholds,
        loss_fn=own_loss or _measures.two_classes,
        problem_type=ProblemType.LOGISTIC_REGRESSION,
        **options,
    )


def binary_svm_head(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Sequence[float] | None = None,
) -> Head:
    """Return a head for two classes with the hinge loss."""
    return SvmHead(
        loss_fn=_measures.hinge,
        problem_type=ProblemType.LOGISTIC_REGRESSION,
        label_name=label_name,
        weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias,
        head_name=head_name,
    )


def multi_label_head(
    n_classes: int,
    label_name: str | None = None,
    weight_column_name: str | None = None,
    enable_centered_bias: bool = False,
    head_name: str | None = None,
    thresholds: Sequence[float] | None = None,
    metric_class_ids: Sequence[int] | None = None,
    loss_fn: Callable[..., Any] | None = None,
) -> Head:
    """Return a head for examples that may have several classes at once."""
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for classification: {n_classes}.")
    return MultiLabelHead(
        n_classes,
        metric_class_ids,
        loss_fn=_measures.custom(loss_fn) if loss_fn else _measures.sigmoid,
        problem_type=ProblemType.CLASSIFICATION,
        label_name=label_name,
        weight_column_name=weight_column_name,
        enable_centered_bias=enable_centered_bias,
        head_name=head_name,
    )


def loss_only_head(loss_fn: Callable[[], Any], head_name: str | None = None) -> Head:
    """Return a head that only adds to the loss."""
    return LossOnlyHead(loss_fn, head_name=head_name)


def multi_head(heads: Sequence[Head], loss_weights: Sequence[float] | None = None) -> Head:
    """Return several heads as one; the losses are added, weighted where weights are given."""
    if loss_weights and len(loss_weights) != len(heads):
        raise ValueError(
            f"heads and loss_weights must have same size: {len(heads)} and {len(loss_weights)}."
        )

    def merge(parts: list[Any]) -> Any:
        if loss_weights:
            parts = [loss * weight for loss, weight in zip(parts, loss_weights, strict=True)]
        return tf.add_n(parts)

    return MultiHead(heads, merge)


def no_op_train_fn(loss: Any) -> Any:
    return tf.no_op()


_regression_head = regression_head
_poisson_regression_head = poisson_regression_head
_multi_class_head = multi_class_head
_binary_svm_head = binary_svm_head
_multi_label_head = multi_label_head
_multi_head = multi_head
