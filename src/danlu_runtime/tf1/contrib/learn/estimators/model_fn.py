"""What a `model_fn` of contrib.learn receives (`ModeKeys`) and returns (`ModelFnOps`)."""

import collections
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.constants import ProblemType
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.estimator import private, public


class ModeKeys:
    """The values are those of `tf.estimator.ModeKeys`; INFER is its PREDICT."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


class ModelFnOps(
    collections.namedtuple(
        "ModelFnOps",
        (
            "predictions",
            "loss",
            "train_op",
            "eval_metric_ops",
            "output_alternatives",
            "training_chief_hooks",
            "training_hooks",
            "scaffold",
            "mode",
        ),
    )
):
    """The ops of a model; checked when made, as in TensorFlow 1."""

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Any = None,
        output_alternatives: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Any = None,
    ) -> "ModelFnOps":
        ModeKeys.validate(mode)
        if train_op is None and mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op: a model_fn must return it in mode TRAIN.")
        return super().__new__(
            cls,
            predictions=_checked_predictions(predictions, mode),
            loss=_checked_loss(loss, mode),
            train_op=train_op,
            eval_metric_ops=eval_metric_ops,
            output_alternatives=output_alternatives,
            training_chief_hooks=training_chief_hooks or [],
            training_hooks=training_hooks or [],
            scaffold=scaffold,
            mode=mode,
        )

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> Any:
        """Return the same as a `tf.estimator.EstimatorSpec`; its `loss` metric is the Estimator's.

        In mode INFER every output alternative becomes an export output of its name.
        """
        metrics = {
            name: op for name, op in (self.eval_metric_ops or {}).items() if name != MetricKey.LOSS
        }
        return public().EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=self.train_op if self.mode == ModeKeys.TRAIN else None,
            eval_metric_ops=metrics if self.mode == ModeKeys.EVAL else None,
            export_outputs=self._export_outputs(default_serving_output_alternative_key),
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )

    def _export_outputs(self, default_key: str | None) -> Any:
        if self.mode != ModeKeys.INFER or not self.output_alternatives:
            return None
        outputs = {
            key: _export_output(kind, predictions)
            for key, (kind, predictions) in self.output_alternatives.items()
        }
        if len(outputs) == 1:
            (default_key,) = outputs
        default = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
        if default_key not in outputs:
            return None  # several, none of them the default: tf.estimator would refuse them
        outputs[default] = outputs[default_key]
        return {key: output for key, output in outputs.items() if key is not None}


def _export_output(kind: int, predictions: Any) -> Any:
    export = private("export.export_output")
    if not isinstance(predictions, dict):
        predictions = {PredictionKey.GENERIC: predictions}
    if kind == ProblemType.LINEAR_REGRESSION and PredictionKey.SCORES in predictions:
        return export.RegressionOutput(predictions[PredictionKey.SCORES])
    if kind in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
        scores = predictions.get(PredictionKey.SCORES)
        if scores is None:
            scores = predictions.get(PredictionKey.PROBABILITIES)
        classes = predictions.get(PredictionKey.CLASSES)
        if classes is not None and classes.dtype != tf.string:
            classes = None  # a classification signature has string classes only
        if scores is not None or classes is not None:
            return export.ClassificationOutput(scores=scores, classes=classes)
    return export.PredictOutput(predictions)


def _checked_loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode != ModeKeys.INFER:
            raise ValueError(f"Missing loss: a model_fn must return it in mode {mode!r}.")
        return None
    loss = tf.convert_to_tensor(loss)
    if loss.shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, got a tensor of shape {loss.shape}.")
    return loss if loss.shape.rank in (None, 0) else tf.reshape(loss, [])


def _checked_predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.INFER:
            raise ValueError("Missing predictions: a model_fn must return them in mode INFER.")
        return None
    if isinstance(predictions, dict):
        return {key: _tensor(value) for key, value in predictions.items()}
    return _tensor(predictions)


def _tensor(value: Any) -> Any:
    return value if isinstance(value, tf.SparseTensor) else tf.convert_to_tensor(value)
