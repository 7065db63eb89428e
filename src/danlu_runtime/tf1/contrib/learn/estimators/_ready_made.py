"""What DNN, linear and combined estimators share: a head, one or two towers, simple predictions."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators._heads import BinaryHead, RegressionHead, SvmHead
from danlu_runtime.tf1.contrib.learn.estimators.estimator import Estimator
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey

# The two bodies of the ready-made estimators: deep (`dnn`) and wide (`linear`).
#
# Columns of `tf.contrib.layers` and of `tf.feature_column` are both taken, as in TensorFlow 1.15.
# Variables keep its names: `dnn/hiddenlayer_0/weights`, `dnn/logits/biases`, `linear/…`.


DNN = "dnn"
LINEAR = "linear"
DNN_LEARNING_RATE = 0.05
LARGEST_LINEAR_LEARNING_RATE = 0.2
_SMALLEST_PART_OF_INPUT = 64 << 20


def features_dict(features: Any) -> dict[str, Any]:
    """Return the features by name; a bare tensor has the empty name."""
    return features if isinstance(features, dict) else {"": features}


def deep_logits(
    features: dict[str, Any],
    columns: Sequence[Any],
    units: Sequence[int],
    outputs: int,
    activation_fn: Callable[[Any], Any] | None,
    dropout: float | None,
    training: bool,
    num_ps: int,
) -> Any:
    """Return the logits of fully connected layers over the columns."""
    from danlu_runtime.tf1.contrib.layers import dropout as drop
    from danlu_runtime.tf1.contrib.layers import fully_connected

    parts = tf.min_max_variable_partitioner(
        max_partitions=max(num_ps, 1), min_slice_size=_SMALLEST_PART_OF_INPUT
    )
    with tf.variable_scope(f"{DNN}/input_from_feature_columns", partitioner=parts) as scope:
        net = input_layer(features, columns, DNN, scope)
    parts = tf.min_max_variable_partitioner(max_partitions=max(num_ps, 1))
    for index, size in enumerate(units):
        with tf.variable_scope(f"{DNN}/hiddenlayer_{index}", partitioner=parts) as scope:
            net = fully_connected(
                net,
                size,
                activation_fn=activation_fn or tf.nn.relu,
                variables_collections=[DNN],
                scope=scope,
            )
            if dropout is not None and training:
                net = drop(net, keep_prob=1.0 - dropout)
        _summarize(net, scope.name)
    with tf.variable_scope(f"{DNN}/logits", partitioner=parts) as scope:
        logits = fully_connected(
            net, outputs, activation_fn=None, variables_collections=[DNN], scope=scope
        )
    _summarize(logits, scope.name)
    return logits


def wide_logits(
    features: dict[str, Any], columns: Sequence[Any], outputs: int, joint: bool, num_ps: int
) -> Any:
    """Return the weighted sum of the columns."""
    parts = tf.min_max_variable_partitioner(
        max_partitions=max(num_ps, 1), min_slice_size=_SMALLEST_PART_OF_INPUT
    )
    with tf.variable_scope(LINEAR, partitioner=parts) as scope:
        if all(is_core(column) for column in columns):
            return tf.feature_column.linear_model(
                features, columns, units=outputs, weight_collections=[LINEAR]
            )
        from danlu_runtime.tf1.contrib import layers

        weigh = (
            layers.joint_weighted_sum_from_feature_columns
            if joint
            else layers.weighted_sum_from_feature_columns
        )
        return weigh(
            columns_to_tensors=features,
            feature_columns=columns,
            num_outputs=outputs,
            weight_collections=[LINEAR],
            scope=scope,
        )[0]


def input_layer(
    features: dict[str, Any], columns: Sequence[Any], collection: str, scope: Any
) -> Any:
    """Return the columns side by side as one dense tensor."""
    if all(is_core(column) for column in columns):
        return tf.feature_column.input_layer(features, columns, weight_collections=[collection])
    from danlu_runtime.tf1.contrib.layers import input_from_feature_columns

    return input_from_feature_columns(
        columns_to_tensors=features,
        feature_columns=columns,
        weight_collections=[collection],
        scope=scope,
    )


def is_core(column: Any) -> bool:
    """Return True if a column is of `tf.feature_column` alone; those of contrib are both."""
    from danlu_runtime.tf1.contrib.layers._column import _FeatureColumn

    return not isinstance(column, _FeatureColumn)


def deep_train_op(
    loss: Any, optimizer: Any, clip_norm: float | None, multipliers: Any = None
) -> Any:
    """Return the step of the deep part; the global step is not counted."""
    optimizer = make_optimizer(optimizer or "Adagrad", DNN_LEARNING_RATE)
    with tf.variable_scope(DNN):  # names the slots in a checkpoint
        return _apply(loss, optimizer, DNN, clip_norm, multipliers)


def wide_train_op(loss: Any, optimizer: Any, clip_norm: float | None, columns: int) -> Any:
    """Return the step of the wide part; the global step is not counted."""
    rate = min(LARGEST_LINEAR_LEARNING_RATE, 1.0 / math.sqrt(columns))
    return _apply(loss, make_optimizer(optimizer or "Ftrl", rate), LINEAR, clip_norm)


def make_optimizer(optimizer: Any, learning_rate: float) -> Any:
    """Return an optimizer of a name, of a function that makes it, or itself."""
    if isinstance(optimizer, str):
        from danlu_runtime.tf1.contrib.layers import OPTIMIZER_CLS_NAMES

        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of {', '.join(OPTIMIZER_CLS_NAMES)}, "
                f"you provided {optimizer}."
            )
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=learning_rate)
    return optimizer() if callable(optimizer) else optimizer


def _apply(
    loss: Any, optimizer: Any, part: str, clip_norm: float | None, multipliers: Any = None
) -> Any:
    variables = tf.trainable_variables(f"{part}/")
    gradients = tf.gradients(loss, variables)
    if multipliers:
        gradients = [
            gradient * multipliers.get(variable.op.name, multipliers.get(variable, 1.0))
            for gradient, variable in zip(gradients, variables, strict=True)
        ]
    if clip_norm:
        gradients, _ = tf.clip_by_global_norm(gradients, clip_norm)
    return optimizer.apply_gradients(zip(gradients, variables, strict=True))


def _summarize(value: Any, tag: str) -> None:
    tf.summary.scalar(f"{tag}/fraction_of_zero_values", tf.nn.zero_fraction(value))
    tf.summary.histogram(f"{tag}/activation", value)


# Trains the linear estimators with `tf.contrib.linear_optimizer.SDCAOptimizer`.


_LOSSES: dict[type[Any], str] = {
    BinaryHead: "logistic_loss",
    RegressionHead: "squared_loss",
    SvmHead: "hinge_loss",
}


def sdca_model(
    head: Any, optimizer: Any, columns: Sequence[Any], features: Any, labels: Any, mode: str
) -> ModelFnOps:
    """Return the ops of a linear model that the solver trains.

    Raises:
        ValueError: the head or the columns are of a kind the solver does not take.
    """
    from danlu_runtime.tf1.contrib import layers

    if type(head) not in _LOSSES:
        raise ValueError("SDCAOptimizer trains two classes or numbers; this head has neither.")
    if any(is_core(column) for column in columns):
        raise ValueError(
            "SDCAOptimizer takes columns of tf.contrib.layers here. For those of "
            "tf.feature_column use tf.estimator.experimental.LinearSDCA."
        )
    with tf.variable_scope(LINEAR) as scope:
        logits, variables, bias = layers.weighted_sum_from_feature_columns(
            columns_to_tensors=features,
            feature_columns=columns,
            num_outputs=1,
            weight_collections=[LINEAR],
            scope=scope,
        )
    models: list[Any] = []

    def train_op_fn(loss: Any) -> Any:
        model, step = optimizer.get_train_step(
            variables,
            head.weight_column_name,
            _LOSSES[type(head)],
            features,
            labels,
            tf.train.get_global_step(),
            bias,
        )
        models.append((model, step))
        return step

    ops = head.create_model_fn_ops(features, mode, labels, train_op_fn, logits=logits)
    if mode != ModeKeys.TRAIN:
        return ops
    return ops._replace(training_hooks=[*ops.training_hooks, _UpdateWeights(*models[0])])


class _UpdateWeights(tf.train.SessionRunHook):
    """Moves what the solver found into the variables, after each step."""

    def __init__(self, model: Any, train_op: Any) -> None:
        self._model = model
        self._train_op = train_op

    def begin(self) -> None:
        self._update = self._model.update_weights(self._train_op)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._update)


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
        features = features_dict(features)
        if hasattr(self._linear_optimizer, "get_train_step") and not self._dnn_columns:
            given = (self._head, self._linear_optimizer, self._linear_columns)
            return sdca_model(*given, features, labels, mode)
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
                deep_logits(
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
                wide_logits(features, self._linear_columns, outputs, self._joint_weights, num_ps)
            )
        return logits[0] if len(logits) == 1 else tf.add(*logits)

    def _train_op(self, loss: Any) -> Any:
        steps = []
        if self._dnn_columns:
            steps.append(
                deep_train_op(loss, self._dnn_optimizer, self._clip_norm, self._multipliers)
            )
        if self._linear_columns:
            columns = len(self._linear_columns)
            steps.append(wide_train_op(loss, self._linear_optimizer, self._clip_norm, columns))
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
