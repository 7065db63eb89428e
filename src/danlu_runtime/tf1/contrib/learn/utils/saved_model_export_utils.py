"""`tf.contrib.learn.utils.saved_model_export_utils`: signatures and folders of exports.

The strategies that an Experiment exports by are in `export_strategies`; all names are here too.
"""

import os
import time
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.constants import ProblemType
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.utils import gc
from danlu_runtime.tf1.contrib.learn.utils.export_strategies import (
    BestModelSelector,
    extend_export_strategy,
    garbage_collect_exports,
    get_most_recent_export,
    make_best_model_export_strategy,
    make_export_strategy,
    make_parsing_export_strategy,
)
from danlu_runtime.tf1.contrib.learn.utils.input_fn_utils import InputFnOps

__all__ = [
    "BestModelSelector",
    "build_all_signature_defs",
    "build_standardized_signature_def",
    "extend_export_strategy",
    "garbage_collect_exports",
    "gc",
    "get_input_alternatives",
    "get_most_recent_export",
    "get_output_alternatives",
    "get_temp_export_dir",
    "get_timestamped_export_dir",
    "make_best_model_export_strategy",
    "make_export_strategy",
    "make_parsing_export_strategy",
]

DEFAULT_INPUT_ALTERNATIVE_KEY = "default_input_alternative"
FEATURES_INPUT_ALTERNATIVE_KEY = "features_input_alternative"
FALLBACK_OUTPUT_ALTERNATIVE_KEY = "default_output_alternative"
MAX_DIRECTORY_CREATION_ATTEMPTS = 10

Tensors = Mapping[str, Any]


def build_standardized_signature_def(inputs: Tensors, outputs: Tensors, problem_type: int) -> Any:
    """Return a classification, regression or predict signature, as the problem allows."""
    if not inputs:
        raise ValueError("input_tensors must be provided.")
    if not outputs:
        raise ValueError("output_tensors must be provided.")
    utils = tf.saved_model.signature_def_utils
    if len(inputs) == 1:
        (examples,) = inputs.values()
        if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
            classes, scores = _classes(outputs), _scores(outputs)
            if classes is None and scores is None and len(outputs) == 1:
                (only,) = outputs.values()
                classes, scores = (only, None) if only.dtype == tf.string else (None, only)
            # A classification signature is for serialized examples; other inputs are predicted.
            if (classes is not None or scores is not None) and examples.dtype == tf.string:
                return utils.classification_signature_def(examples, classes, scores)
        elif problem_type == ProblemType.LINEAR_REGRESSION and len(outputs) == 1:
            (predictions,) = outputs.values()
            if examples.dtype == tf.string and predictions.dtype == tf.float32:
                return utils.regression_signature_def(examples, predictions)
    return utils.predict_signature_def(dict(inputs), dict(outputs))


def _scores(outputs: Tensors) -> Any:
    scores = outputs.get(PredictionKey.SCORES)
    return outputs.get(PredictionKey.PROBABILITIES) if scores is None else scores


def _classes(outputs: Tensors) -> Any:
    classes = outputs.get(PredictionKey.CLASSES)
    return classes if classes is not None and classes.dtype == tf.string else None


def get_input_alternatives(input_ops: Any) -> tuple[dict[str, Any], Any]:
    """Return the inputs a signature may have, and the features of the model."""
    alternatives = {}
    if hasattr(input_ops, "receiver_tensors"):  # a ServingInputReceiver of tf.estimator
        alternatives[DEFAULT_INPUT_ALTERNATIVE_KEY] = input_ops.receiver_tensors
        features = input_ops.features
    elif isinstance(input_ops, InputFnOps):
        features, _, alternatives[DEFAULT_INPUT_ALTERNATIVE_KEY] = input_ops
    else:
        features, _ = input_ops
    if features is None or (isinstance(features, dict) and not features):
        raise ValueError("Features must be defined.")
    return alternatives, features


def get_output_alternatives(
    model_fn_ops: Any, default_output_alternative_key: str | None = None
) -> tuple[dict[Any, Any], Any]:
    """Return the outputs a signature may have, and the key of the default one.

    Raises:
        ValueError: the key asked for is not there, or there are several and none was asked for.
    """
    alternatives = model_fn_ops.output_alternatives
    wanted = default_output_alternative_key
    if not alternatives and not wanted:
        outputs = model_fn_ops.predictions
        if not isinstance(outputs, dict):
            outputs = {PredictionKey.GENERIC: outputs}
        key = FALLBACK_OUTPUT_ALTERNATIVE_KEY
        return {key: (ProblemType.UNSPECIFIED, outputs)}, key
    known = sorted(map(str, alternatives or ()))
    if wanted:
        if wanted in (alternatives or ()):
            return alternatives, wanted
        raise ValueError(
            f"Requested default_output_alternative: {wanted}, but available "
            f"output_alternatives are: {known}"
        )
    if len(alternatives) == 1:
        (only,) = alternatives
        return alternatives, only
    raise ValueError(
        f"Please specify a default_output_alternative. Available output_alternatives are: {known}"
    )


def build_all_signature_defs(
    input_alternatives: Mapping[str, Tensors],
    output_alternatives: Mapping[Any, Any],
    actual_default_output_alternative_key: Any,
) -> dict[str, Any]:
    """Return a signature for every pair of inputs and outputs, and the default one."""
    default_inputs = input_alternatives.get(DEFAULT_INPUT_ALTERNATIVE_KEY)
    if not default_inputs:
        raise ValueError("A default input_alternative must be provided.")
    signatures = {
        f"{input_key}:{output_key or 'None'}": build_standardized_signature_def(
            inputs, outputs, problem
        )
        for input_key, inputs in input_alternatives.items()
        for output_key, (problem, outputs) in output_alternatives.items()
    }
    problem, outputs = output_alternatives[actual_default_output_alternative_key]
    default = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    signatures[default] = build_standardized_signature_def(default_inputs, outputs, problem)
    return signatures


def get_timestamped_export_dir(export_dir_base: Any) -> bytes:
    """Return a path below the folder, named by the seconds of now, that is not there yet."""
    base = tf.compat.as_bytes(export_dir_base)
    stamp = int(time.time())
    # TensorFlow 1 slept a second for each name that was taken; the next free one does as well.
    for attempt in range(MAX_DIRECTORY_CREATION_ATTEMPTS):
        path = os.path.join(base, str(stamp + attempt).encode())
        if not tf.gfile.Exists(path):
            return path
    raise RuntimeError(
        "Failed to obtain a unique export directory name after "
        f"{MAX_DIRECTORY_CREATION_ATTEMPTS} attempts."
    )


def get_temp_export_dir(timestamped_export_dir: Any) -> bytes:
    """Return the folder beside it to write in first; no model server reads it."""
    folder, name = os.path.split(tf.compat.as_bytes(timestamped_export_dir))
    return os.path.join(folder, b"temp-" + name)
