"""Trains, evaluates and exports with the user's functions."""

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from danlu_runtime.fused import choice
from danlu_runtime.fused.estimator import fused_steps
from danlu_runtime.modelmaker.answer import ask
from danlu_runtime.modelmaker.functions import Functions, bind, load
from danlu_runtime.modelmaker.receiver import Receiver
from danlu_runtime.modelmaker.rehearsal import rehearse
from danlu_runtime.notes import say

_NEVER = 1 << 62  # steps
BEST, LATEST = "best", "latest"


def train(run: str, path: str, model_dir: str, params: Mapping[str, Any]) -> None:
    """Do everything the service promises for a file with functions."""
    tf.logging.set_verbosity(tf.logging.INFO)
    choice.is_asked()  # a word that cannot be is told before anything else
    tf.enable_resource_variables()  # only they can be trained several steps at once
    functions = load(run, path, params)
    estimator = _estimator(functions, model_dir, params)
    receiver, batch = rehearse(functions, estimator)
    _tell_start(estimator)
    with fused_steps(estimator) as hooks:
        metrics, _ = tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(
                functions.train_input_fn, max_steps=_steps(estimator, params), hooks=hooks
            ),
            tf.estimator.EvalSpec(
                functions.eval_input_fn,
                steps=params["eval_steps"],
                exporters=_exporters(functions, receiver),
                start_delay_secs=params["eval_start_delay_secs"],
                throttle_secs=params["eval_throttle_secs"],
            ),
        )
    _tell_metrics(metrics or {})
    ask(os.path.join(model_dir, "export", LATEST), batch)


def _estimator(functions: Functions, model_dir: str, params: Mapping[str, Any]) -> Any:
    config = _configuration(model_dir, params)
    if functions.model_fn is not None:
        return tf.estimator.Estimator(functions.model_fn, config=config)
    given = {"config": config, "params": params}
    if functions.estimator_fn is not None:
        return bind(functions.estimator_fn, given, ("config", "params"))()
    model = bind(functions.keras_model_fn, given, ("params",))()  # type: ignore[arg-type]
    return tf.keras.estimator.model_to_estimator(model, config=config)


def _configuration(model_dir: str, params: Mapping[str, Any]) -> Any:
    steps, seconds = params["save_checkpoints_steps"], params["save_checkpoints_secs"]
    if steps is None and seconds is None:
        # An export is made from a checkpoint: the last one is written in any case.
        say("checkpoints are off: one is written at the end, and a restart begins anew")
        steps = _NEVER
    devices = _devices()
    return tf.estimator.RunConfig(
        model_dir=model_dir,
        save_checkpoints_steps=steps,
        save_checkpoints_secs=seconds,
        keep_checkpoint_max=params["keep_checkpoint_max"],
        log_step_count_steps=params["log_step_count_steps"],
        train_distribute=tf.distribute.MirroredStrategy() if devices > 1 else None,
    )


def _devices() -> int:
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return len([one for one in shown.split(",") if one.strip() and not one.startswith("-")])


def _steps(estimator: Any, params: Mapping[str, Any]) -> int | None:
    """The manual counts the steps of all cards; the global step counts rounds of them."""
    total: int | None = params["train_max_steps"]
    if total is None:
        return None
    return max(1, total // max(1, estimator.config.num_worker_replicas * max(1, _devices())))


def _exporters(functions: Functions, receiver: Receiver) -> list[Any]:
    # The service's second page: functions around the model, kept beside it for who serves it.
    beside = {os.path.basename(functions.file): functions.file} if functions.serves else None
    return [
        tf.estimator.BestExporter(BEST, receiver, assets_extra=beside, exports_to_keep=1),
        tf.estimator.LatestExporter(LATEST, receiver, assets_extra=beside),
    ]


def _tell_start(estimator: Any) -> None:
    found = tf.train.latest_checkpoint(estimator.model_dir)
    if found:
        say(f"training goes on from {os.path.basename(found)}")


def _tell_metrics(metrics: Mapping[str, Any]) -> None:
    step = metrics.get("global_step")
    shown = [
        f"{name} {value:.5g}" for name, value in sorted(metrics.items()) if name != "global_step"
    ]
    if shown:
        say(f"evaluation at step {step}: {', '.join(shown)}")
