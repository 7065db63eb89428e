"""`tf.contrib.learn.Estimator`: fit, evaluate, predict and export of a `model_fn`.

The loop is that of `tf.estimator.Estimator`; this class speaks the older language: `x` and `y`,
monitors, metrics at `evaluate`, a `model_fn` that returns a tuple or `ModelFnOps`.
"""

import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn import monitors as monitor_lib
from danlu_runtime.tf1.contrib.learn.estimators import run_config
from danlu_runtime.tf1.contrib.learn.estimators._feeding import InputFn, input_fn_of
from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys, ModelFnOps
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.metric_spec import MetricSpec, call_metric
from danlu_runtime.tf1.contrib.learn.trainable import Evaluable, Trainable
from danlu_runtime.tf1.contrib.learn.utils import saved_model_export_utils as naming
from danlu_runtime.tf1.estimator import public

__all__ = [
    "BaseEstimator",
    "Estimator",
    "SKCompat",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]


_OPTIONAL = ("mode", "params", "config", "model_dir")


class BaseEstimator(Evaluable, Trainable):
    """Everything but the model: a subclass says it in `_call_model_fn`."""

    def __init__(self, model_dir: str | None = None, config: Any = None) -> None:
        config = config or run_config.RunConfig()
        self._metrics: Mapping[Any, Any] | None = None
        self._loop = public().Estimator(
            model_fn=self._spec, model_dir=model_dir or config.model_dir, config=config
        )
        self._config = self._loop.config

    @property
    def config(self) -> Any:
        return self._config

    @property
    def model_dir(self) -> str:
        return self._loop.model_dir

    @property
    def model_fn(self) -> Callable[..., Any]:
        return self._call_model_fn

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFn | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Any = None,
        max_steps: int | None = None,
    ) -> "BaseEstimator":
        """Train; `steps` are added to those done before, `max_steps` counts from the first."""
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        source = _input_fn(x, y, input_fn, batch_size, shuffle=True, epochs=None)
        hooks = monitor_lib.replace_monitors_with_hooks(monitors, self)
        self._loop.train(source, hooks=hooks, steps=steps, max_steps=max_steps)
        return self

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFn | None = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Any = None,
    ) -> "BaseEstimator":
        """Train a little more: one step where nothing else is said."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: InputFn | None = None,
        feed_fn: Callable[[], Any] | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Return the metrics of the latest checkpoint, `loss` and `global_step` among them."""
        source = _input_fn(x, y, input_fn, batch_size, shuffle=False, epochs=1)
        hooks = list(hooks or [])
        if feed_fn is not None:
            hooks.append(tf.train.FeedFnHook(feed_fn))
        self._metrics = metrics
        try:
            return self._loop.evaluate(
                source, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name
            )
        finally:
            self._metrics = None

    def predict(
        self,
        x: Any = None,
        input_fn: InputFn | None = None,
        batch_size: int | None = None,
        outputs: list[str] | None = None,
        as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:
        """Return an iterator over the predictions of each example, or all of them as arrays.

        Without a queue an `input_fn` gives one batch, as in TensorFlow 1.15.
        """
        source = _input_fn(x, None, input_fn, batch_size, shuffle=False, epochs=1)
        predictions = self._loop.predict(
            source,
            predict_keys=outputs,
            hooks=[_EndOfConstants()] if x is None else None,
            yield_single_examples=not iterate_batches,
        )
        return predictions if as_iterable else _together(predictions, iterate_batches)

    def get_variable_value(self, name: str) -> np.ndarray[Any, Any]:
        return self._loop.get_variable_value(name)

    def get_variable_names(self) -> list[str]:
        return self._loop.get_variable_names()

    def export_savedmodel(self, export_dir_base: str, *args: Any, **kwargs: Any) -> bytes:
        """Write a SavedModel below `export_dir_base`; see the function of this name."""
        return export_savedmodel(self, export_dir_base, *args, **kwargs)

    def export(self, export_dir: str, *args: Any, **kwargs: Any) -> str:
        """Write what `session_bundle` wrote, as a SavedModel; see `learn.utils.export`."""
        from danlu_runtime.tf1.contrib.learn.utils.export import export_estimator

        return export_estimator(self, export_dir, *args, **kwargs)

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> ModelFnOps:
        raise NotImplementedError(f"{type(self).__name__} has no model.")

    def _spec(self, features: Any, labels: Any, mode: str) -> Any:
        ops = self._call_model_fn(features, labels, mode)
        if not isinstance(ops, ModelFnOps):
            return ops  # an EstimatorSpec already
        if mode == ModeKeys.EVAL and self._metrics:
            extra = metric_ops(self._metrics, features, labels, ops.predictions)
            ops = ops._replace(eval_metric_ops={**(ops.eval_metric_ops or {}), **extra})
        return ops.estimator_spec()


class _EndOfConstants(tf.train.SessionRunHook):
    """Ends after the first batch where no queue runner would end the input."""

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if not run_context.session.graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
            run_context.request_stop()


class Estimator(BaseEstimator):
    """An estimator of a user's `model_fn(features, labels[, mode, params, config, model_dir])`."""

    def __init__(
        self,
        model_fn: Callable[..., Any] | None = None,
        model_dir: str | None = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Callable[..., Any] | None = None,
    ) -> None:
        self._user_model_fn = model_fn
        self._params = params
        self._engineer = feature_engineering_fn
        if model_fn is not None and params is not None and "params" not in _arguments(model_fn):
            raise ValueError(
                f"Estimator's model_fn ({model_fn}) does not have a params argument, but params "
                f"({params}) were passed to the Estimator's constructor."
            )
        super().__init__(model_dir=model_dir, config=config)

    @property
    def params(self) -> Any:
        return self._params

    def _call_model_fn(self, features: Any, labels: Any, mode: str) -> Any:
        if self._user_model_fn is None:
            return super()._call_model_fn(features, labels, mode)
        if self._engineer is not None:
            features, labels = self._engineer(features, labels)
        values = {
            "mode": mode,
            "params": self._params,
            "config": self._config,
            "model_dir": self.model_dir,
        }
        taken = _arguments(self._user_model_fn)
        wanted = {name: values[name] for name in _OPTIONAL if name in taken}
        return _as_ops(self._user_model_fn(features, labels, **wanted), mode)


def metric_ops(metrics: Mapping[Any, Any], features: Any, labels: Any, predictions: Any) -> Any:
    """Return the ops of metrics given at `evaluate`, by name."""
    if isinstance(labels, dict) and len(labels) == 1:
        (labels,) = labels.values()
    found: dict[str, Any] = {}
    for name, metric in sorted(metrics.items(), key=lambda item: str(item[0])):
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
        elif isinstance(name, tuple):
            label, key = name
            found[label] = call_metric(metric, predictions[key], labels, None)
        else:
            found[name] = call_metric(metric, _main_prediction(name, predictions), labels, None)
    return found


def _main_prediction(name: str, predictions: Any) -> Any:
    if not isinstance(predictions, dict):
        return predictions
    for key in (PredictionKey.CLASSES, PredictionKey.SCORES):
        if key in predictions:
            return predictions[key]
    raise ValueError(
        f"Metric {name!r} names no prediction, but the predictions are "
        f"{sorted(map(str, predictions))}. "
        "Use tf.contrib.learn.MetricSpec(metric_fn, prediction_key=...)."
    )


def _input_fn(
    x: Any, y: Any, input_fn: InputFn | None, batch_size: int | None, shuffle: bool, epochs: Any
) -> InputFn:
    if input_fn is None:
        if x is None:
            raise ValueError("Either x or input_fn must be provided.")
        return input_fn_of(x, y, batch_size, shuffle, epochs)
    if x is not None or y is not None:
        raise ValueError("Can not provide both input_fn and x or y.")
    if batch_size is not None:
        raise ValueError("Can not provide both input_fn and batch_size: input_fn makes batches.")
    return input_fn


def _arguments(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def _as_ops(result: Any, mode: str) -> Any:
    if isinstance(result, ModelFnOps | public().EstimatorSpec):
        return result
    if not isinstance(result, tuple | list) or len(result) != 3:
        raise ValueError(
            "A model_fn returns ModelFnOps or (predictions, loss, train_op), "
            f"this one returned {result!r}."
        )
    predictions, loss, train_op = result
    if isinstance(train_op, list | tuple):
        train_op = tf.group(*train_op) if train_op else None
    return ModelFnOps(mode=mode, predictions=predictions, loss=loss, train_op=train_op)


def _together(predictions: Iterator[Any], batches: bool) -> Any:
    gathered = list(predictions)
    join = np.concatenate if batches else np.array
    if gathered and isinstance(gathered[0], dict):
        return {key: join([one[key] for one in gathered]) for key in gathered[0]}
    return join(gathered)


# Writes an estimator of contrib.learn as a SavedModel.


def export_savedmodel(
    estimator: Any,
    export_dir_base: str,
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    graph_rewrite_specs: Any = None,
    strip_default_attrs: bool = False,
) -> bytes:
    """Write a SavedModel into a folder named by the time, and return its path.

    Raises:
        ValueError: there is no checkpoint yet, or no such output alternative.
    """
    if serving_input_fn is None:
        raise ValueError("serving_input_fn must be defined.")
    checkpoint = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
    if not checkpoint:
        raise ValueError(f"Couldn't find trained model at {estimator.model_dir}.")
    final = naming.get_timestamped_export_dir(export_dir_base)
    temporary = naming.get_temp_export_dir(final)
    with tf.Graph().as_default():
        tf.train.create_global_step()
        input_ops = serving_input_fn()
        inputs, features = naming.get_input_alternatives(input_ops)
        ops = estimator._call_model_fn(features, None, ModeKeys.INFER)
        outputs, key = naming.get_output_alternatives(ops, default_output_alternative_key)
        signatures = naming.build_all_signature_defs(inputs, outputs, key)
        _write(temporary, checkpoint, signatures, ops.scaffold, as_text, strip_default_attrs)
    _copy_assets(temporary, assets_extra or {})
    tf.gfile.Rename(temporary, final)
    return final


def _write(
    folder: bytes,
    checkpoint: str,
    signatures: Mapping[str, Any],
    scaffold: Any,
    as_text: bool,
    strip_default_attrs: bool,
) -> None:
    saver = (scaffold.saver if scaffold else None) or tf.train.Saver(sharded=True)
    builder = tf.saved_model.builder.SavedModelBuilder(folder)
    with tf.Session() as session:
        saver.restore(session, checkpoint)
        builder.add_meta_graph_and_variables(
            session,
            [tf.saved_model.tag_constants.SERVING],
            signature_def_map=signatures,
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            main_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
            strip_default_attrs=strip_default_attrs,
        )
        builder.save(as_text)


def _copy_assets(folder: bytes, assets: Mapping[str, str]) -> None:
    for destination, source in assets.items():
        path = os.path.join(tf.compat.as_text(folder), "assets.extra", destination)
        tf.gfile.MakeDirs(os.path.dirname(path))
        tf.gfile.Copy(source, path)


# Real-valued columns for data that comes without any.


def infer_real_valued_columns_from_input_fn(input_fn: InputFn) -> Any:
    """Return a real-valued column for every feature an `input_fn` gives."""
    from danlu_runtime.tf1.contrib.layers import infer_real_valued_columns

    with tf.Graph().as_default():
        given = input_fn()
        if isinstance(given, tf.compat.v2.data.Dataset):
            given = tf.data.make_one_shot_iterator(given).get_next()
        features = given[0] if isinstance(given, tuple) else given
        return infer_real_valued_columns(features)


def infer_real_valued_columns_from_input(x: Any) -> Any:
    """Return a real-valued column for every feature of a matrix, frame or dict."""
    return infer_real_valued_columns_from_input_fn(input_fn_of(x, None, None, False, 1))


# `tf.contrib.learn.SKCompat`: an estimator in the manner of scikit-learn.


class SKCompat:
    """An estimator with the manners of scikit-learn: `predict` returns arrays."""

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> "SKCompat":
        self._estimator.fit(
            x=x, y=y, batch_size=batch_size, steps=steps, max_steps=max_steps, monitors=monitors
        )
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Mapping[Any, Any] | None = None,
        name: str | None = None,
    ) -> Any:
        results = self._estimator.evaluate(
            x=x, y=y, batch_size=batch_size, steps=steps, metrics=metrics, name=name or "score"
        )
        if metrics:
            results = {key: value for key, value in results.items() if key in metrics}
        return results

    def predict(self, x: Any, batch_size: int = 128, outputs: list[str] | None = None) -> Any:
        return BaseEstimator.predict(
            self._estimator, x=x, batch_size=batch_size, outputs=outputs, as_iterable=False
        )
