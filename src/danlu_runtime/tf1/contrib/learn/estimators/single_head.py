"""A head: the top of a model, from logits to loss, predictions and metrics."""

import abc
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey


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
