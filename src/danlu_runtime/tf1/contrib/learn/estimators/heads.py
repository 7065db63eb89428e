"""The kinds of head: regression, two classes, many classes, many labels, and several heads."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import measures
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.estimators.single_head import Head, SingleHead, class_names


class RegressionHead(SingleHead):
    default_scope = "regression_head"

    def __init__(self, link_fn: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(**options)
        self._link_fn = link_fn

    def _predictions(self, logits: Any) -> dict[str, Any]:
        if self._logits_dimension == 1:
            logits = tf.squeeze(logits, axis=[1], name=PredictionKey.SCORES)
        return {PredictionKey.SCORES: self._link_fn(logits)}


class BinaryHead(SingleHead):
    default_scope = "binary_logistic_head"

    def __init__(self, thresholds: Sequence[float] | None = None, **options: Any) -> None:
        super().__init__(logits_dimension=1, **options)
        self._thresholds = thresholds or (0.5,)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        both = tf.concat((tf.zeros_like(logits), logits), 1)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.LOGISTIC: tf.sigmoid(logits, name=PredictionKey.LOGISTIC),
            PredictionKey.PROBABILITIES: tf.nn.softmax(both, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: tf.argmax(both, 1, name=PredictionKey.CLASSES),
        }

    def _exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return class_names(predictions[PredictionKey.PROBABILITIES])

    def _metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        labels = _like_logits(labels)
        logistic = predictions[PredictionKey.LOGISTIC]
        classes = tf.expand_dims(predictions[PredictionKey.CLASSES], 1)
        found = {
            MetricKey.ACCURACY: tf.metrics.accuracy(tf.to_int64(labels), classes, weights),
            MetricKey.PREDICTION_MEAN: measures.mean(logistic, weights),
            MetricKey.LABEL_MEAN: measures.mean(labels, weights),
            MetricKey.ACCURACY_BASELINE: measures.mean(labels, weights),
            MetricKey.AUC: measures.auc(logistic, labels, weights),
            MetricKey.AUC_PR: measures.auc(logistic, labels, weights, curve="PR"),
        }
        for at in self._thresholds:
            given = (logistic, labels, weights, at)
            found[MetricKey.ACCURACY_MEAN % at] = measures.accuracy_at(*given)
            found[MetricKey.PRECISION_MEAN % at] = measures.precision_at(*given)
            found[MetricKey.RECALL_MEAN % at] = measures.recall_at(*given)
        return found


class SvmHead(SingleHead):
    default_scope = "binary_svm_head"

    def __init__(self, **options: Any) -> None:
        super().__init__(logits_dimension=1, **options)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        both = tf.concat((tf.zeros_like(logits), logits), 1)
        classes = tf.argmax(both, 1, name=PredictionKey.CLASSES)
        return {PredictionKey.LOGITS: logits, PredictionKey.CLASSES: classes}

    def _metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes = tf.expand_dims(predictions[PredictionKey.CLASSES], 1)
        labels = tf.to_int64(_like_logits(labels))
        return {MetricKey.ACCURACY: tf.metrics.accuracy(labels, classes, weights)}


class MultiClassHead(SingleHead):
    default_scope = "multi_class_head"

    def __init__(
        self,
        n_classes: int,
        metric_class_ids: Sequence[int] | None = None,
        label_keys: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(logits_dimension=n_classes, **options)
        self._class_ids = checked_class_ids(metric_class_ids, n_classes)
        if label_keys and len(label_keys) != n_classes:
            raise ValueError(
                f"Length of label_keys must equal n_classes: {len(label_keys)} and {n_classes}."
            )
        self._label_keys = label_keys

    def _label_ids(self, labels: Any) -> Any:
        if not self._label_keys:
            return labels
        return _table(self._label_keys).lookup(labels)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        classes = tf.argmax(logits, 1, name=PredictionKey.CLASSES)
        if self._label_keys:
            classes = tf.gather(tf.constant(list(self._label_keys)), classes)
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: tf.nn.softmax(logits, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: classes,
        }

    def _exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return class_names(predictions[PredictionKey.PROBABILITIES], self._label_keys)

    def _metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes = predictions[PredictionKey.CLASSES]
        if labels.shape.rank == 2:
            classes = tf.expand_dims(classes, 1)
        labels = labels if labels.dtype == classes.dtype else tf.cast(labels, classes.dtype)
        found = {MetricKey.ACCURACY: tf.metrics.accuracy(labels, classes, weights)}
        if self._label_keys:
            return found
        probabilities = predictions[PredictionKey.PROBABILITIES]
        logits = predictions[PredictionKey.LOGITS]
        for i in self._class_ids:
            found |= {
                MetricKey.CLASS_PREDICTION_MEAN % i: measures.share_of_class(classes, weights, i),
                MetricKey.CLASS_LABEL_MEAN % i: measures.share_of_class(labels, weights, i),
                MetricKey.CLASS_PROBABILITY_MEAN % i: measures.mean(probabilities, weights, i),
                MetricKey.CLASS_LOGITS_MEAN % i: measures.mean(logits, weights, i),
            }
        return found


class MultiLabelHead(SingleHead):
    default_scope = "multi_label_head"

    def __init__(
        self, n_classes: int, metric_class_ids: Sequence[int] | None = None, **options: Any
    ) -> None:
        super().__init__(logits_dimension=n_classes, **options)
        self._class_ids = checked_class_ids(metric_class_ids, n_classes)

    def _labels(self, labels: Any) -> Any:
        tensor = labels[self._label_name] if isinstance(labels, dict) else labels
        if isinstance(tensor, tf.SparseTensor):
            return tf.to_int64(tf.sparse_to_indicator(tensor, self._logits_dimension))
        return tf.convert_to_tensor(tensor)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        return {
            PredictionKey.LOGITS: logits,
            PredictionKey.PROBABILITIES: tf.sigmoid(logits, name=PredictionKey.PROBABILITIES),
            PredictionKey.CLASSES: tf.to_int64(tf.greater(logits, 0), name=PredictionKey.CLASSES),
        }

    def _exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return class_names(predictions[PredictionKey.PROBABILITIES])

    def _metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        classes = predictions[PredictionKey.CLASSES]
        probabilities = predictions[PredictionKey.PROBABILITIES]
        logits = predictions[PredictionKey.LOGITS]
        found = {
            MetricKey.ACCURACY: tf.metrics.accuracy(tf.to_int64(labels), classes, weights),
            MetricKey.AUC: measures.auc(probabilities, labels, weights),
            MetricKey.AUC_PR: measures.auc(probabilities, labels, weights, curve="PR"),
        }
        for i in self._class_ids:
            found |= {
                MetricKey.CLASS_PREDICTION_MEAN % i: measures.mean(classes, weights, i),
                MetricKey.CLASS_LABEL_MEAN % i: measures.mean(labels, weights, i),
                MetricKey.CLASS_PROBABILITY_MEAN % i: measures.mean(probabilities, weights, i),
                MetricKey.CLASS_LOGITS_MEAN % i: measures.mean(logits, weights, i),
                MetricKey.CLASS_AUC % i: measures.auc(probabilities, labels, weights, i),
                MetricKey.CLASS_AUC_PR % i: measures.auc(probabilities, labels, weights, i, "PR"),
            }
        return found


class LossOnlyHead(Head):
    """A further term of the loss, such as a regularisation: no logits, no predictions."""

    def __init__(self, loss_fn: Callable[[], Any], head_name: str | None = None) -> None:
        self._loss_fn = loss_fn
        self.head_name = head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        return 0

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Callable[[Any], Any] | None = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        ModeKeys.validate(mode)
        loss = train_op = None
        if mode != ModeKeys.INFER:
            with tf.variable_scope(scope, default_name=self.head_name):
                loss = self._loss_fn()
            loss = tf.add_n(loss) if isinstance(loss, list) else loss
            tf.summary.scalar(f"{MetricKey.LOSS}/{self.head_name}", loss)
            if mode == ModeKeys.TRAIN:
                if train_op_fn is None:
                    raise ValueError("train_op_fn can not be None in TRAIN mode")
                train_op = train_op_fn(loss)
        return ModelFnOps(
            mode=mode, loss=loss, train_op=train_op, predictions={}, eval_metric_ops={}
        )


def checked_class_ids(ids: Sequence[int] | None, n_classes: int) -> tuple[int, ...]:
    wrong = [i for i in ids or () if not 0 <= i < n_classes]
    if wrong:
        raise ValueError(f"Class IDs {wrong} not in [0, {n_classes}).")
    return tuple(ids or ())


def _like_logits(labels: Any) -> Any:
    return tf.expand_dims(labels, 1) if labels.shape.rank == 1 else labels


def _table(keys: Sequence[str]) -> Any:
    from tensorflow.python.ops import lookup_ops

    return lookup_ops.index_table_from_tensor(list(keys), name="label_id_lookup")
