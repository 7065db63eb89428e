"""`tf.contrib.learn.utils.export`: the export of before SavedModel; it writes a SavedModel now."""

import os
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.model_fn import ModeKeys
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.utils import gc
from danlu_runtime.tf1.contrib.learn.utils.saved_model_export_utils import feature_spec
from danlu_runtime.tf1.contrib.session_bundle import exporter

__all__ = [
    "classification_signature_fn",
    "classification_signature_fn_with_prob",
    "export_estimator",
    "generic_signature_fn",
    "logistic_regression_signature_fn",
    "regression_signature_fn",
]

Signatures = tuple[Any, dict[str, Any]]


def export_estimator(
    estimator: Any,
    export_dir: str,
    input_fn: Callable[..., Any] | None = None,
    input_feature_key: str | None = None,
    use_deprecated_input_fn: bool = True,
    signature_fn: Callable[..., Signatures] | None = None,
    default_batch_size: int | None = 1,
    exports_to_keep: int | None = None,
    prediction_key: str | None = None,
    checkpoint_path: str | None = None,
) -> str:
    """Write the latest checkpoint into `export_dir/<step>` and return that folder."""
    checkpoint = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
    if not checkpoint:
        raise tf.errors.NotFoundError(
            None, None, f"Couldn't find a checkpoint in {estimator.model_dir}."
        )
    with tf.Graph().as_default():
        global_step = tf.train.create_global_step()
        examples, features = _inputs(
            estimator, input_fn, input_feature_key, use_deprecated_input_fn, default_batch_size
        )
        predictions = estimator._call_model_fn(features, None, ModeKeys.INFER).predictions
        if prediction_key is not None:
            predictions = predictions[prediction_key]
        make = signature_fn or generic_signature_fn
        default, named = make(examples, features, predictions)
        with tf.Session() as session:
            saver = tf.train.Saver(sharded=True)
            saver.restore(session, checkpoint)
            export = exporter.Exporter(saver)
            export.init(
                session.graph.as_graph_def(),
                init_op=tf.group(tf.local_variables_initializer(), tf.tables_initializer()),
                default_graph_signature=default,
                named_graph_signatures=named,
                assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
            )
            step = int(session.run(global_step))
            folder = os.path.join(export_dir, exporter.VERSION_FORMAT_SPECIFIER % step)
            if tf.gfile.Exists(folder):  # the same step again: a monitor's end, say
                return folder
            keep = None if exports_to_keep is None else gc.largest_export_versions(exports_to_keep)
            return export.export(export_dir, step, session, exports_to_keep=keep)


def _inputs(
    estimator: Any,
    input_fn: Callable[..., Any] | None,
    key: str | None,
    deprecated: bool,
    batch_size: int | None,
) -> tuple[Any, Any]:
    if input_fn is not None and not deprecated:
        features, _ = input_fn()
        if key is None:
            raise ValueError("input_feature_key must be defined when input_fn is given.")
        return features.pop(key), features
    examples = tf.placeholder(tf.string, [batch_size], name="input_example_tensor")
    if input_fn is not None:
        features = input_fn(estimator, examples)
        return examples, features[0] if isinstance(features, tuple) else features
    columns = getattr(estimator, "feature_columns", None)
    if columns is None:
        raise ValueError(
            "This estimator has no feature columns to parse examples by: give an input_fn and an "
            "input_feature_key."
        )
    return examples, tf.parse_example(examples, feature_spec(columns))


def generic_signature_fn(examples: Any, features: Any, predictions: Any) -> Signatures:
    """Return a predict signature of all inputs and outputs."""
    tensors = {"inputs": examples} if examples is not None else dict(features)
    outputs = predictions if isinstance(predictions, dict) else {"outputs": predictions}
    named = {
        "inputs": exporter.generic_signature(tensors),
        "outputs": exporter.generic_signature({str(key): value for key, value in outputs.items()}),
    }
    return None, named


def classification_signature_fn(examples: Any, features: Any, predictions: Any) -> Signatures:
    """Return a signature of classes."""
    _need(examples)
    classes = _picked(predictions, PredictionKey.CLASSES)
    return exporter.classification_signature(examples, classes_tensor=classes), {}


def classification_signature_fn_with_prob(
    examples: Any, features: Any, predictions: Any
) -> Signatures:
    """Return a signature of probabilities."""
    _need(examples)
    scores = _picked(predictions, PredictionKey.PROBABILITIES)
    return exporter.classification_signature(examples, scores_tensor=scores), {}


def regression_signature_fn(examples: Any, features: Any, predictions: Any) -> Signatures:
    """Return a signature of scores."""
    _need(examples)
    output = _picked(predictions, PredictionKey.SCORES)
    return exporter.regression_signature(examples, output), {}


def logistic_regression_signature_fn(examples: Any, features: Any, predictions: Any) -> Signatures:
    """Return a signature of the probability of the second class."""
    _need(examples)
    output = _picked(predictions, PredictionKey.PROBABILITIES)
    return exporter.regression_signature(examples, output), {}


def _picked(predictions: Any, key: str) -> Any:
    return predictions[key] if isinstance(predictions, dict) else predictions


def _need(examples: Any) -> None:
    if examples is None:
        raise ValueError("examples cannot be None when using this signature fn.")
