"""What DNN, linear and combined estimators share: a head, one or two towers, simple predictions."""

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators import sdca, towers
from danlu_runtime.tf1.contrib.learn.estimators.estimator import Estimator
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey


class ReadyMade(Estimator):
    """An estimator whose model is a head over a deep tower, a wide tower, or both."""

    _default_output = PredictionKey.CLASSES

    def __init__(
        self,
        head: Any,
        *,
        linear_columns: Any = None,
        linear_optimizer: Any = None,
        joint_weights: bool = False,
        dnn_columns: Any = None,
        dnn_optimizer: Any = None,
        hidden_units: Any = None,
        activation_fn: Callable[[Any], Any] | None = None,
        dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        gradient_multipliers: Any = None,
        count_both_towers: bool = False,
        model_dir: str | None = None,
        config: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._linear_columns = tuple(linear_columns or ())
        self._dnn_columns = tuple(dnn_columns or ())
        if not self._linear_columns and not self._dnn_columns:
            raise ValueError(
                "Either linear_feature_columns or dnn_feature_columns must be defined."
            )
        if self._dnn_columns and not hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is.")
        self._head = head
        self._linear_optimizer = linear_optimizer
        self._joint_weights = joint_weights
        self._dnn_optimizer = dnn_optimizer
        self._hidden_units = hidden_units
        self._activation_fn = activation_fn
        self._dropout = dropout
        self._clip_norm = gradient_clip_norm
        self._multipliers = gradient_multipliers
        # TensorFlow 1 counted the step of each tower, unless fix_global_step_increment_bug.
        twice = count_both_towers and self._linear_columns and self._dnn_columns
        self._steps_a_batch = 2 if twice else 1
        super().__init__(
            model_fn=self._build,
            model_dir=model_dir,
            config=config,
            feature_engineering_fn=feature_engineering_fn,
        )

    @property
    def feature_columns(self) -> tuple[Any, ...]:
        """Return all columns: an export parses serialized examples by them."""
        return (*self._linear_columns, *self._dnn_columns)

    def _build(self, features: Any, labels: Any, mode: str) -> ModelFnOps:
        features = towers.features_dict(features)
        if hasattr(self._linear_optimizer, "get_train_step") and not self._dnn_columns:
            given = (self._head, self._linear_optimizer, self._linear_columns)
            return sdca.build(*given, features, labels, mode)
        return self._head.create_model_fn_ops(
            features=features,
            mode=mode,
            labels=labels,
            train_op_fn=self._train_op,
            logits=self._logits(features, mode),
        )

    def _logits(self, features: dict[str, Any], mode: str) -> Any:
        outputs = self._head.logits_dimension
        num_ps = self.config.num_ps_replicas or 0
        logits = []
        if self._dnn_columns:
            logits.append(
                towers.deep_logits(
                    features,
                    self._dnn_columns,
                    self._hidden_units,
                    outputs,
                    self._activation_fn,
                    self._dropout,
                    mode == ModeKeys.TRAIN,
                    num_ps,
                )
            )
        if self._linear_columns:
            logits.append(
                towers.wide_logits(
                    features, self._linear_columns, outputs, self._joint_weights, num_ps
                )
            )
        return logits[0] if len(logits) == 1 else tf.add(*logits)

    def _train_op(self, loss: Any) -> Any:
        steps = []
        if self._dnn_columns:
            steps.append(
                towers.deep_train_op(loss, self._dnn_optimizer, self._clip_norm, self._multipliers)
            )
        if self._linear_columns:
            columns = len(self._linear_columns)
            steps.append(
                towers.wide_train_op(loss, self._linear_optimizer, self._clip_norm, columns)
            )
        with tf.control_dependencies(steps):
            global_step = tf.train.get_or_create_global_step()
            return tf.assign_add(global_step, self._steps_a_batch).op

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: list[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Return classes or scores; with `outputs`, dicts of what they name."""
        if outputs:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)
        return self._predict_one(self._default_output, x, input_fn, batch_size, as_iterable)

    def _predict_one(
        self, key: str, x: Any, input_fn: Any, batch_size: int | None, as_iterable: bool
    ) -> Any:
        found = super().predict(x, input_fn, batch_size, [key], as_iterable)
        return _values(found, key) if as_iterable else found[key]


class ReadyMadeClassifier(ReadyMade):
    """Predicts classes and probabilities."""

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True
    ) -> Any:
        key = PredictionKey.CLASSES
        return self._predict_one(key, x, input_fn, batch_size, as_iterable)

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True
    ) -> Any:
        key = PredictionKey.PROBABILITIES
        return self._predict_one(key, x, input_fn, batch_size, as_iterable)


class ReadyMadeRegressor(ReadyMade):
    """Predicts scores."""

    _default_output = PredictionKey.SCORES

    def predict_scores(
        self, x: Any = None, input_fn: Any = None, batch_size: Any = None, as_iterable: bool = True
    ) -> Any:
        key = PredictionKey.SCORES
        return self._predict_one(key, x, input_fn, batch_size, as_iterable)


def _values(predictions: Iterator[dict[str, Any]], key: str) -> Iterator[Any]:
    for prediction in predictions:
        yield prediction[key]
