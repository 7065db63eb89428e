"""The kinds of head: regression, two classes, many classes, many labels, and several heads."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import _measures
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey

# A head: the top of a model, from logits to loss, predictions and metrics.


class Head(abc.ABC):
    """Makes `ModelFnOps` of logits, or of the layer below them."""

    head_name: str | None

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int: ...

    @abc.abstractmethod
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
        """Return the ops of the model; exactly one of `logits` and `logits_input` is given."""


class SingleHead(Head):
    """One objective. Subclasses say loss, predictions and metrics."""

    default_scope = "head"

    def __init__(
        self,
        problem_type: int,
        logits_dimension: int,
        loss_fn: Callable[..., Any],
        label_name: str | None = None,
        weight_column_name: str | None = None,
        enable_centered_bias: bool = False,
        head_name: str | None = None,
    ) -> None:
        if logits_dimension is None or logits_dimension < 1:
            raise ValueError(f"Invalid logits_dimension {logits_dimension}.")
        self._problem_type = problem_type
        self._logits_dimension = logits_dimension
        self._loss_fn = loss_fn
        self._label_name = label_name
        self._weight_column_name = weight_column_name
        self._enable_centered_bias = enable_centered_bias
        self.head_name = head_name

    @property
    def logits_dimension(self) -> int:
        return self._logits_dimension

    @property
    def label_name(self) -> str | None:
        return self._label_name

    @property
    def weight_column_name(self) -> str | None:
        return self._weight_column_name

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
        with tf.variable_scope(scope, default_name=self.head_name or self.default_scope):
            logits = make_logits(logits_input, logits, self._logits_dimension)
            bias = None
            if self._enable_centered_bias:
                bias = self._centered_bias()
                logits = tf.nn.bias_add(logits, bias)
            predictions = self._predictions(logits)
            ops: dict[str, Any] = {"predictions": predictions}
            if mode != ModeKeys.INFER and labels is not None:
                ops |= self._learning(
                    features, mode, labels, train_op_fn, logits, bias, predictions
                )
            alternatives = {self.head_name: (self._problem_type, self._exported(predictions))}
            return ModelFnOps(mode=mode, output_alternatives=alternatives, **ops)

    def _learning(
        self,
        features: Any,
        mode: str,
        labels: Any,
        train_op_fn: Callable[[Any], Any] | None,
        logits: Any,
        bias: Any,
        predictions: dict[str, Any],
    ) -> dict[str, Any]:
        labels = self._labels(labels)
        weights = weight_tensor(features, self._weight_column_name)
        loss, reported = self._loss_fn(self._label_ids(labels), logits, weights)
        # The tag of the curve has no scope before it.
        with tf.name_scope(""):
            tf.summary.scalar(self._key(MetricKey.LOSS), tf.identity(reported))
        train_op = None
        if mode == ModeKeys.TRAIN:
            if train_op_fn is None:
                raise ValueError("train_op_fn can not be None in TRAIN mode")
            train_op = train_op_fn(loss)
            if bias is not None:
                step = self._centered_bias_step(bias, tf.shape(logits)[0], labels, weights)
                train_op = tf.group(train_op, step)
        with tf.name_scope("metrics"):
            metrics = {self._key(MetricKey.LOSS): tf.metrics.mean(reported)}
            for key, metric in self._metrics(predictions, labels, weights).items():
                metrics[self._key(key)] = metric
        # An evaluation reports the loss of the model: with weights, that of their sum.
        loss = reported if mode == ModeKeys.EVAL else loss
        return {"loss": loss, "train_op": train_op, "eval_metric_ops": metrics}

    def _key(self, name: str) -> str:
        return f"{name}/{self.head_name}" if self.head_name else name

    def _labels(self, labels: Any) -> Any:
        tensor = labels[self._label_name] if isinstance(labels, dict) else labels
        if isinstance(tensor, tf.SparseTensor):
            raise ValueError("SparseTensor is not supported as labels of this head.")
        return tf.convert_to_tensor(tensor)

    def _label_ids(self, labels: Any) -> Any:
        return labels

    def _exported(self, predictions: dict[str, Any]) -> dict[str, Any]:
        return predictions

    @abc.abstractmethod
    def _predictions(self, logits: Any) -> dict[str, Any]: ...

    def _metrics(self, predictions: dict[str, Any], labels: Any, weights: Any) -> dict[str, Any]:
        return {}

    def _centered_bias(self) -> Any:
        # No get_variable: a partitioned variable cannot be indexed for its summaries.
        bias = tf.Variable(
            tf.zeros([self._logits_dimension]), name="centered_bias_weight", trainable=True
        )
        for index in range(self._logits_dimension):
            tf.summary.scalar(self._key(f"centered_bias/bias_{index}"), bias[index])
        return bias

    def _centered_bias_step(self, bias: Any, batch: Any, labels: Any, weights: Any) -> Any:
        logits = tf.reshape(tf.tile(bias, [batch]), [batch, self._logits_dimension])
        loss = tf.reduce_mean(self._loss_fn(self._label_ids(labels), logits, weights))
        return tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[bias])


def make_logits(logits_input: Any, logits: Any, dimension: int) -> Any:
    """Return the logits given, or a linear layer of that size over `logits_input`."""
    if (logits is None) == (logits_input is None):
        both = "Both" if logits is not None else "Neither"
        raise ValueError(f"{both} logits and logits_input supplied; give exactly one.")
    if logits is None:
        from danlu_runtime.tf1.contrib.layers import fully_connected

        return fully_connected(logits_input, dimension, activation_fn=None, scope="logits")
    logits = tf.convert_to_tensor(logits, name="logits")
    if logits.shape.rank is not None:
        logits.shape[-1:].assert_is_compatible_with([dimension])
    return logits


def weight_tensor(features: Any, name: str | None) -> Any:
    """Return the weights of the examples as columns, None where there are none."""
    if not name:
        return None
    if name not in features:
        raise ValueError(f"Weights {name} missing from features, which are {sorted(features)}.")
    weights = tf.to_float(features[name])
    return tf.reshape(weights, [-1, 1]) if weights.shape.rank == 1 else weights


def class_names(probabilities: Any, label_keys: Any = None) -> dict[str, Any]:
    """Return probabilities beside the names of their classes: what classification serves."""
    batch = tf.shape(probabilities)[0]
    names = label_keys or tf.as_string(tf.range(tf.shape(probabilities)[1]))
    classes = tf.tile(tf.expand_dims(names, 0), [batch, 1], name="classes_tensor")
    return {PredictionKey.PROBABILITIES: probabilities, PredictionKey.CLASSES: classes}


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
            MetricKey.PREDICTION_MEAN: _measures.mean(logistic, weights),
            MetricKey.LABEL_MEAN: _measures.mean(labels, weights),
            MetricKey.ACCURACY_BASELINE: _measures.mean(labels, weights),
            MetricKey.AUC: _measures.auc(logistic, labels, weights),
            MetricKey.AUC_PR: _measures.auc(logistic, labels, weights, curve="PR"),
        }
        for at in self._thresholds:
            given = (logistic, labels, weights, at)
            found[MetricKey.ACCURACY_MEAN % at] = _measures.accuracy_at(*given)
            found[MetricKey.PRECISION_MEAN % at] = _measures.precision_at(*given)
            found[MetricKey.RECALL_MEAN % at] = _measures.recall_at(*given)
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
                MetricKey.CLASS_PREDICTION_MEAN % i: _measures.share_of_class(classes, weights, i),
                MetricKey.CLASS_LABEL_MEAN % i: _measures.share_of_class(labels, weights, i),
                MetricKey.CLASS_PROBABILITY_MEAN % i: _measures.mean(probabilities, weights, i),
                MetricKey.CLASS_LOGITS_MEAN % i: _measures.mean(logits, weights, i),
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
            MetricKey.AUC: _measures.auc(probabilities, labels, weights),
            MetricKey.AUC_PR: _measures.auc(probabilities, labels, weights, curve="PR"),
        }
        for i in self._class_ids:
            found |= {
                MetricKey.CLASS_PREDICTION_MEAN % i: _measures.mean(classes, weights, i),
                MetricKey.CLASS_LABEL_MEAN % i: _measures.mean(labels, weights, i),
                MetricKey.CLASS_PROBABILITY_MEAN % i: _measures.mean(probabilities, weights, i),
                MetricKey.CLASS_LOGITS_MEAN % i: _measures.mean(logits, weights, i),
                MetricKey.CLASS_AUC % i: _measures.auc(probabilities, labels, weights, i),
                MetricKey.CLASS_AUC_PR % i: _measures.auc(probabilities, labels, weights, i, "PR"),
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


# Several heads on one body: losses merged, metrics and predictions side by side.


class MultiHead(Head):
    """Predictions are keyed by (head name, key)."""

    def __init__(self, heads: Sequence[Head], loss_merger: Callable[[list[Any]], Any]) -> None:
        if not all(head.head_name for head in heads):
            raise ValueError("Members of MultiHead must have names.")
        self._heads = list(heads)
        self._loss_merger = loss_merger
        self.head_name = None

    @property
    def logits_dimension(self) -> int:
        return sum(head.logits_dimension for head in self._heads)

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
        if mode == ModeKeys.TRAIN and train_op_fn is None:
            raise ValueError("train_op_fn can not be None in TRAIN mode.")
        parts = self._parts(logits)
        made = []
        for head, part in zip(self._heads, parts, strict=True):
            given = {"logits": part} if logits is not None else {"logits_input": logits_input}
            made.append(
                head.create_model_fn_ops(
                    features, mode, labels, lambda loss: tf.no_op(), scope=scope, **given
                )
            )
        if mode == ModeKeys.INFER:
            return self._merged_inference(made)
        return self._merged_learning(made, mode, train_op_fn)

    def _parts(self, logits: Any) -> list[Any]:
        if logits is None:
            return [None] * len(self._heads)
        if isinstance(logits, dict):
            return [logits.get(head.head_name) for head in self._heads]
        sizes = [head.logits_dimension for head in self._heads]
        return tf.split(logits, sizes, axis=1)

    def _merged_learning(
        self, made: list[ModelFnOps], mode: str, train_op_fn: Callable[[Any], Any] | None
    ) -> ModelFnOps:
        loss = self._loss_merger([ops.loss for ops in made])
        metrics: dict[str, Any] = {}
        for ops in made:
            metrics |= ops.eval_metric_ops or {}
        train_op = None
        if mode == ModeKeys.TRAIN and train_op_fn is not None:
            train_op = tf.group(train_op_fn(loss), *(ops.train_op for ops in made))
        return ModelFnOps(
            mode=mode,
            predictions=self._predictions(made),
            loss=loss,
            train_op=train_op,
            eval_metric_ops=metrics,
        )

    def _merged_inference(self, made: list[ModelFnOps]) -> ModelFnOps:
        alternatives: dict[Any, Any] = {}
        for head, ops in zip(self._heads, made, strict=True):
            if not isinstance(head, LossOnlyHead):
                alternatives |= ops.output_alternatives
        return ModelFnOps(
            mode=ModeKeys.INFER,
            predictions=self._predictions(made),
            output_alternatives=alternatives,
        )

    def _predictions(self, made: list[ModelFnOps]) -> dict[tuple[str | None, str], Any]:
        return {
            (head.head_name, key): value
            for head, ops in zip(self._heads, made, strict=True)
            for key, value in ops.predictions.items()
        }
