"""How an Experiment exports: every evaluation, or only the best model."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.estimators.metric_key import MetricKey
from danlu_runtime.tf1.contrib.learn.export_strategy import ExportStrategy
from danlu_runtime.tf1.contrib.learn.utils import gc, input_fn_utils
from danlu_runtime.tf1.estimator import public

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
    from danlu_runtime.tf1.contrib.learn.estimators.towers import is_core

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
