"""`tf.contrib.learn.utils.saved_model_export_utils`: signatures and folders of exports.

The strategies that an Experiment exports by are in `export_strategies`; all names are here too.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.constants import ProblemType
from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.estimators.prediction_key import PredictionKey
from danlu_runtime.tf1.contrib.learn.export_strategy import ExportStrategy
from danlu_runtime.tf1.contrib.learn.utils import gc, input_fn_utils
from danlu_runtime.tf1.contrib.learn.utils.input_fn_utils import InputFnOps
from danlu_runtime.tf1.estimator import public

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


# How an Experiment exports: every evaluation, or only the best model.


TIMESTAMP_DIGITS = 10


def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return a strategy named `Servo` that writes a SavedModel and deletes older ones."""

    def export_fn(
        estimator: Any,
        export_dir_base: Any,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> Any:
        options: dict[str, Any] = {
            "assets_extra": assets_extra,
            "as_text": as_text,
            "checkpoint_path": checkpoint_path,
            "strip_default_attrs": strip_default_attrs,
        }
        if not isinstance(estimator, public().Estimator):
            options["default_output_alternative_key"] = default_output_alternative_key
        elif default_output_alternative_key is not None:
            raise ValueError(
                "default_output_alternative_key is not supported in core Estimator. Given: "
                f"{default_output_alternative_key}"
            )
        written = estimator.export_savedmodel(
            tf.compat.as_text(export_dir_base), serving_input_fn, **options
        )
        garbage_collect_exports(export_dir_base, exports_to_keep)
        return written

    return ExportStrategy("Servo", export_fn, strip_default_attrs)


def make_parsing_export_strategy(
    feature_columns: Sequence[Any],
    default_output_alternative_key: str | None = None,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    target_core: bool = False,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return a strategy whose model takes serialized examples, parsed by the columns."""
    spec = feature_spec(feature_columns)
    serving_input_fn = (
        public().export.build_parsing_serving_input_receiver_fn(spec)
        if target_core
        else input_fn_utils.build_parsing_serving_input_fn(spec)
    )
    return make_export_strategy(
        serving_input_fn,
        default_output_alternative_key,
        assets_extra,
        as_text,
        exports_to_keep,
        strip_default_attrs,
    )


def feature_spec(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """Return how to parse examples for columns of either kind."""
    from danlu_runtime.tf1.contrib.learn.estimators._ready_made import is_core

    columns = list(feature_columns)
    if all(is_core(column) for column in columns):
        return tf.feature_column.make_parse_example_spec(columns)
    from danlu_runtime.tf1.contrib.layers import create_feature_spec_for_parsing

    return create_feature_spec_for_parsing(columns)


class BestModelSelector:
    """Remembers the best result seen, also one that a former run wrote into event files."""

    def __init__(
        self,
        event_file_pattern: str | None = None,
        compare_fn: Callable[[Any, Any], bool] | None = None,
    ) -> None:
        self._compare_fn = compare_fn or _lower_loss
        self._best: dict[str, Any] | None = None
        for path in tf.gfile.Glob(event_file_pattern) if event_file_pattern else ():
            for event in tf.train.summary_iterator(path):
                values = {
                    value.tag: value.simple_value
                    for value in event.summary.value
                    if value.HasField("simple_value")
                }
                if values and (self._best is None or self._compare_fn(self._best, values)):
                    self._best = values

    def update(self, checkpoint_path: str, eval_result: Any) -> tuple[str, Any]:
        """Return the checkpoint and its result if it is the best so far, else ("", None)."""
        if not checkpoint_path:
            raise ValueError("Checkpoint path is empty.")
        if eval_result is None:
            raise ValueError(f"{checkpoint_path} has empty evaluation results.")
        if self._best is not None and not self._compare_fn(self._best, eval_result):
            return "", None
        self._best = eval_result
        return checkpoint_path, eval_result


def make_best_model_export_strategy(
    serving_input_fn: Callable[[], Any],
    exports_to_keep: int | None = 1,
    model_dir: str | None = None,
    event_file_pattern: str | None = None,
    compare_fn: Callable[[Any, Any], bool] | None = None,
    default_output_alternative_key: str | None = None,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return a strategy named `best_model` that exports only what is better than before."""
    inner = make_export_strategy(
        serving_input_fn,
        default_output_alternative_key,
        exports_to_keep=exports_to_keep,
        strip_default_attrs=strip_default_attrs,
    )
    pattern = (
        os.path.join(model_dir, event_file_pattern) if model_dir and event_file_pattern else None
    )
    selector = BestModelSelector(pattern, compare_fn)

    def export_fn(
        estimator: Any, export_dir_base: Any, checkpoint_path: Any, eval_result: Any = None
    ) -> Any:
        checkpoint = checkpoint_path or tf.train.latest_checkpoint(estimator.model_dir)
        best, result = selector.update(checkpoint, eval_result)
        if not best:
            return ""
        folder = os.path.join(tf.compat.as_text(export_dir_base), os.path.basename(best))
        return inner.export(estimator, folder, best, result)

    return ExportStrategy("best_model", export_fn)


def extend_export_strategy(
    base_export_strategy: ExportStrategy,
    post_export_fn: Callable[[Any, Any], Any],
    post_export_name: str | None = None,
) -> ExportStrategy:
    """Return a strategy that calls `post_export_fn(exported, into)` after the export."""

    def export_fn(estimator: Any, export_dir_base: Any, checkpoint_path: Any = None) -> Any:
        base = tf.compat.as_text(export_dir_base)
        written = base_export_strategy.export(
            estimator, os.path.join(base, "base"), checkpoint_path
        )
        folder = tf.compat.as_text(written)
        into = os.path.join(base, os.path.basename(folder))
        return post_export_fn(folder, into)

    name = base_export_strategy.name
    return ExportStrategy(f"{name}-{post_export_name}" if post_export_name else name, export_fn)


def get_most_recent_export(export_dir_base: Any) -> gc.Path | None:
    """Return the newest export of a folder, None where there is none."""
    newest = gc.largest_export_versions(1)(gc.get_paths(export_dir_base, _version))
    return newest[0] if newest else None


def garbage_collect_exports(export_dir_base: Any, exports_to_keep: int | None) -> None:
    """Delete all but the newest exports of a folder; None keeps them all."""
    if exports_to_keep is None:
        return
    old = gc.negation(gc.largest_export_versions(exports_to_keep))
    for path in old(gc.get_paths(export_dir_base, _version)):
        try:
            tf.gfile.DeleteRecursively(path.path)
        except tf.errors.NotFoundError as error:
            tf.logging.warning("Can not delete %s recursively: %s", path.path, error)


def _version(path: gc.Path) -> gc.Path | None:
    name = os.path.basename(path.path)
    if len(name) != TIMESTAMP_DIGITS or not name.isdigit():
        return None
    return path._replace(export_version=int(name))


def _lower_loss(best: Any, candidate: Any) -> bool:
    for result in (best, candidate):
        if not result or MetricKey.LOSS not in result:
            raise ValueError(f"An evaluation result has no loss: {result!r}.")
    return best[MetricKey.LOSS] > candidate[MetricKey.LOSS]


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
