"""`tf.contrib.estimator`: additions to `tf.estimator`; most of it moved there."""

from typing import Any

from danlu_runtime.tf1.contrib.estimator._heads import (
    binary_classification_head,
    logistic_regression_head,
    multi_class_head,
    multi_head,
    multi_label_head,
    poisson_regression_head,
    regression_head,
)
from danlu_runtime.tf1.contrib.estimator.extenders import (
    TowerOptimizer,
    clip_gradients_by_norm,
    forward_features,
    replicate_model_fn,
)
from danlu_runtime.tf1.estimator import private, public

_early_stopping = private("early_stopping")
_hooks = private("hooks.hooks")
_export = private("export.export")

DNNEstimator = public().DNNEstimator
DNNLinearCombinedEstimator = public().DNNLinearCombinedEstimator
InMemoryEvaluatorHook = _hooks.InMemoryEvaluatorHook
LinearEstimator = public().LinearEstimator
RNNClassifier = private("canned.rnn").RNNClassifier
RNNEstimator = private("canned.rnn").RNNEstimator
SavedModelEstimator = private("canned.saved_model_estimator").SavedModelEstimator
add_metrics = public().add_metrics
build_raw_supervised_input_receiver_fn = _export.build_raw_supervised_input_receiver_fn
build_supervised_input_receiver_fn_from_input_fn = (
    _export.build_supervised_input_receiver_fn_from_input_fn
)
call_logit_fn = public().experimental.call_logit_fn
dnn_logit_fn_builder = public().experimental.dnn_logit_fn_builder
linear_logit_fn_builder = public().experimental.linear_logit_fn_builder
make_early_stopping_hook = _early_stopping.make_early_stopping_hook
make_stop_at_checkpoint_step_hook = _hooks.make_stop_at_checkpoint_step_hook
read_eval_metrics = _early_stopping.read_eval_metrics
stop_if_higher_hook = _early_stopping.stop_if_higher_hook
stop_if_lower_hook = _early_stopping.stop_if_lower_hook
stop_if_no_decrease_hook = _early_stopping.stop_if_no_decrease_hook
stop_if_no_increase_hook = _early_stopping.stop_if_no_increase_hook

_TREES = "removed.boosted_trees"
GONE = {
    "boosted_trees_classifier_train_in_memory": _TREES,
    "boosted_trees_regressor_train_in_memory": _TREES,
    "DNNClassifierWithLayerAnnotations": "tf.estimator.DNNClassifier",
    "DNNRegressorWithLayerAnnotations": "tf.estimator.DNNRegressor",
}


def export_saved_model_for_mode(
    estimator: Any,
    export_dir_base: str,
    input_receiver_fn: Any,
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    strip_default_attrs: bool = True,
    mode: str | None = None,
) -> Any:
    """Write the graph of one mode as a SavedModel and return its folder."""
    return export_all_saved_models(
        estimator,
        export_dir_base,
        {mode or public().ModeKeys.PREDICT: input_receiver_fn},
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )


def export_all_saved_models(
    estimator: Any,
    export_dir_base: str,
    input_receiver_fn_map: Any,
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: str | None = None,
    strip_default_attrs: bool = True,
) -> Any:
    """Write the graphs of several modes as one SavedModel and return its folder."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base,
        input_receiver_fn_map,
        assets_extra=assets_extra,
        as_text=as_text,
        checkpoint_path=checkpoint_path,
    )
