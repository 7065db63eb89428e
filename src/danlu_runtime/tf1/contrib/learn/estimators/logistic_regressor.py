"""`tf.contrib.learn.LogisticRegressor`: metrics of two classes for any logistic `model_fn`."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import _measures
from danlu_runtime.tf1.contrib.learn.estimators.estimator import Estimator
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModelFnOps

__all__ = ["LogisticRegressor"]


def LogisticRegressor(
    model_fn: Callable[..., Any],
    thresholds: list[float] | None = None,
    model_dir: str | None = None,
    config: Any = None,
    feature_engineering_fn: Callable[..., Any] | None = None,
) -> Estimator:
    """Return an estimator of a `model_fn` that predicts probabilities in one tensor."""
    return _Logistic(
        thresholds or [0.5],
        model_fn=model_fn,
        model_dir=model_dir,
        config=config,
        feature_engineering_fn=feature_engineering_fn,
    )


class _Logistic(Estimator):
    def __init__(self, thresholds: list[float], **options: Any) -> None:
        self._thresholds = thresholds
        super().__init__(**options)

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> Any:
        ops = super()._call_model_fn(features, labels, mode)
        if labels is None or not isinstance(ops, ModelFnOps) or ops.predictions is None:
            return ops
        metrics = {**(ops.eval_metric_ops or {}), **self._metrics_of(ops.predictions, labels)}
        return ops._replace(eval_metric_ops=metrics)

    def _metrics_of(self, predictions: Any, labels: Any) -> dict[str, Any]:
        labels = tf.cast(tf.reshape(labels, tf.shape(predictions)), tf.float32)
        labels.set_shape(predictions.shape)
        found = {
            MetricKey.PREDICTION_MEAN: _measures.mean(predictions),
            MetricKey.LABEL_MEAN: _measures.mean(labels),
            MetricKey.ACCURACY_BASELINE: _measures.mean(labels),
            MetricKey.AUC: _measures.auc(predictions, labels),
            MetricKey.AUC_PR: _measures.auc(predictions, labels, curve="PR"),
        }
        for at in self._thresholds:
            found[MetricKey.ACCURACY_MEAN % at] = _measures.accuracy_at(
                predictions, labels, None, at
            )
            found[MetricKey.PRECISION_MEAN % at] = _measures.precision_at(
                predictions, labels, None, at
            )
            found[MetricKey.RECALL_MEAN % at] = _measures.recall_at(predictions, labels, None, at)
        return found
