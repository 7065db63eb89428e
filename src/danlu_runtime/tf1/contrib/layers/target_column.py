"""Targets of ``tf.contrib.layers``: what a model's logits mean, and its loss."""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.losses.loss_ops import hinge_loss
from tf_slim.metrics import metric_ops

Loss = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
Metrics = Mapping[Any, Callable[..., Any]]


class ProblemType:
    """What kind of problem a target is."""

    UNSPECIFIED = 0
    CLASSIFICATION = 1
    LINEAR_REGRESSION = 2
    LOGISTIC_REGRESSION = 3


def regression_target(
    label_name: str | None = None,
    weight_column_name: str | None = None,
    label_dimension: int = 1,
) -> "_RegressionTargetColumn":
    """A target of numbers, with squared loss."""
    return _RegressionTargetColumn(_squared_loss, label_dimension, label_name, weight_column_name)


def multi_class_target(
    n_classes: int, label_name: str | None = None, weight_column_name: str | None = None
) -> "_MultiClassTargetColumn":
    """A target of classes; two of them have one logit and logistic loss."""
    if n_classes < 2:
        raise ValueError("n_classes must be > 1 for classification.")
    loss = _logistic_loss if n_classes == 2 else _softmax_loss
    columns = 1 if n_classes == 2 else n_classes
    return _MultiClassTargetColumn(loss, columns, label_name, weight_column_name)


def binary_svm_target(
    label_name: str | None = None, weight_column_name: str | None = None
) -> "_BinarySvmTargetColumn":
    """A target of two classes with hinge loss."""
    return _BinarySvmTargetColumn(_hinge_loss, 1, label_name, weight_column_name)


class _TargetColumn:
    problem_type = ProblemType.UNSPECIFIED

    def __init__(
        self,
        loss_fn: Loss,
        num_label_columns: int,
        label_name: str | None,
        weight_column_name: str | None,
    ) -> None:
        self._loss_fn = loss_fn
        self.num_label_columns = num_label_columns
        self.label_name = label_name
        self.weight_column_name = weight_column_name

    def logits_to_predictions(self, logits: tf.Tensor, proba: bool = False) -> tf.Tensor:
        raise NotImplementedError

    def get_weight_tensor(self, features: Mapping[str, tf.Tensor]) -> tf.Tensor | None:
        if not self.weight_column_name:
            return None
        return tf.reshape(tf.cast(features[self.weight_column_name], tf.float32), [-1])

    def training_loss(
        self, logits: tf.Tensor, target: Any, features: Any, name: str = "training_loss"
    ) -> tf.Tensor:
        """Return the mean over the examples, each with its weight."""
        losses, _ = self._losses(logits, target, features)
        return tf.reduce_mean(losses, name=name)

    def loss(self, logits: tf.Tensor, target: Any, features: Any) -> tf.Tensor:
        """Return the mean over the weights: what evaluation reports."""
        losses, weights = self._losses(logits, target, features)
        if weights is None:
            return tf.reduce_mean(losses, name="loss")
        return tf.div(tf.reduce_sum(losses), tf.reduce_sum(weights), name="loss")

    def _losses(
        self, logits: tf.Tensor, target: Any, features: Any
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        target = target[self.label_name] if isinstance(target, dict) else target
        losses = self._loss_fn(logits, target)
        weights = self.get_weight_tensor(features)
        return (losses if weights is None else tf.reshape(losses, [-1]) * weights), weights

    def _measure(
        self, predictions: tf.Tensor, labels: tf.Tensor, metrics: Metrics, features: Any
    ) -> dict[str, Any]:
        labels = tf.cast(labels, predictions.dtype)
        weights = self.get_weight_tensor(features)
        more = {} if weights is None else {"weights": weights}
        return {name: metric(predictions, labels, **more) for name, metric in metrics.items()}


class _RegressionTargetColumn(_TargetColumn):
    problem_type = ProblemType.LINEAR_REGRESSION

    def logits_to_predictions(self, logits: tf.Tensor, proba: bool = False) -> tf.Tensor:
        return tf.squeeze(logits, axis=[1]) if self.num_label_columns == 1 else logits

    def get_eval_ops(
        self, features: Any, logits: tf.Tensor, labels: tf.Tensor, metrics: Metrics | None = None
    ) -> dict[str, Any]:
        result = {"loss": metric_ops.streaming_mean(self.loss(logits, labels, features))}
        predictions = self.logits_to_predictions(logits)
        return {**result, **self._measure(predictions, labels, metrics or {}, features)}


class _MultiClassTargetColumn(_TargetColumn):
    problem_type = ProblemType.CLASSIFICATION

    def logits_to_predictions(self, logits: tf.Tensor, proba: bool = False) -> tf.Tensor:
        if self.num_label_columns == 1:
            logits = tf.concat([tf.zeros_like(logits), logits], 1)
        return tf.nn.softmax(logits) if proba else tf.argmax(logits, 1)

    def get_eval_ops(
        self, features: Any, logits: tf.Tensor, labels: tf.Tensor, metrics: Metrics | None = None
    ) -> dict[str, Any]:
        """Return the loss, what two classes have by default, and the metrics asked for.

        A metric's name may be ``(name, "classes")`` or ``(name, "probabilities")``.
        """
        result = {"loss": metric_ops.streaming_mean(self.loss(logits, labels, features))}
        if self.num_label_columns == 1:
            scores, truth = tf.sigmoid(logits), tf.cast(labels, tf.float32)
            defaults = get_default_binary_metrics_for_eval(thresholds=[0.5])
            result.update({name: metric(scores, truth) for name, metric in defaults.items()})
        if metrics is None:
            metrics = {("accuracy", "classes"): metric_ops.streaming_accuracy}
        for name, metric in metrics.items():
            short, kind = _named(name)
            predictions = self.logits_to_predictions(logits, proba=kind == "probabilities")
            result.update(self._measure(predictions, labels, {short: metric}, features))
        return result


class _BinarySvmTargetColumn(_MultiClassTargetColumn):
    def logits_to_predictions(self, logits: tf.Tensor, proba: bool = False) -> tf.Tensor:
        if proba:
            raise ValueError("logits to probabilities is not supported for _BinarySvmTargetColumn")
        return super().logits_to_predictions(logits)


def get_default_binary_metrics_for_eval(thresholds: list[float]) -> dict[str, Any]:
    """Return the metrics of two classes, each a function of predictions, labels and weights."""

    def mean_prediction(predictions: Any, labels: Any, weights: Any = None) -> Any:
        return metric_ops.streaming_mean(predictions, weights=weights)

    def mean_label(predictions: Any, labels: Any, weights: Any = None) -> Any:
        return metric_ops.streaming_mean(labels, weights=weights)

    found = {
        "labels/prediction_mean": mean_prediction,
        "labels/actual_target_mean": mean_label,
        "accuracy/baseline_target_mean": mean_label,
        "auc": metric_ops.streaming_auc,
    }
    for at in thresholds:
        precision = metric_ops.streaming_precision_at_thresholds
        recall = metric_ops.streaming_recall_at_thresholds
        found[f"accuracy/threshold_{at:f}_mean"] = _accuracy_at(at)
        found[f"precision/positive_threshold_{at:f}_mean"] = _at(precision, at)
        found[f"recall/positive_threshold_{at:f}_mean"] = _at(recall, at)
    return found


def _accuracy_at(threshold: float) -> Callable[..., Any]:
    def accuracy(predictions: Any, labels: Any, weights: Any = None) -> Any:
        above = tf.cast(tf.greater_equal(predictions, threshold), tf.float32)
        return metric_ops.streaming_accuracy(above, labels, weights=weights)

    return accuracy


def _at(metric: Callable[..., Any], threshold: float) -> Callable[..., Any]:
    def measured(predictions: Any, labels: Any, weights: Any = None) -> Any:
        value, update = metric(predictions, labels, thresholds=[threshold], weights=weights)
        return tf.squeeze(value), update

    return measured


def _named(name: Any) -> tuple[str, str]:
    if isinstance(name, str):
        return name, "classes"
    if not (isinstance(name, tuple) and len(name) == 2):
        raise ValueError(
            f"The metric {name!r} must be named by a text or by a pair of name and kind."
        )
    if name[1] not in ("classes", "probabilities"):
        raise ValueError(
            f"The second part of the metric {name!r} must be 'classes' or 'probabilities'."
        )
    return name


def _as_column(target: tf.Tensor) -> tf.Tensor:
    return tf.expand_dims(target, axis=1) if target.get_shape().ndims == 1 else target


def _squared_loss(logits: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    target = _as_column(target)
    logits.get_shape().assert_is_compatible_with(target.get_shape())
    return tf.squared_difference(logits, tf.cast(target, tf.float32))


def _logistic_loss(logits: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    labels = tf.cast(_as_column(target), tf.float32)
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def _softmax_loss(logits: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    if not target.dtype.is_integer:
        raise ValueError(f"Target's dtype should be integer Instead got {target.dtype}.")
    labels = tf.squeeze(target, axis=[1]) if target.get_shape().ndims == 2 else target
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _hinge_loss(logits: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    return hinge_loss(logits, tf.reshape(target, [-1, 1]))
