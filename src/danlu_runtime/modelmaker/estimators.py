"""The Estimator of a file's functions, and what train_and_evaluate is told about it."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from danlu.errors import Refused
from danlu_runtime import cards as visible
from danlu_runtime.modelmaker.arguments import bind
from danlu_runtime.modelmaker.best import BestExporter
from danlu_runtime.modelmaker.functions import Functions
from danlu_runtime.modelmaker.placement import with_files_here
from danlu_runtime.notes import say

_NEVER = 1 << 62  # steps
BEST, LATEST = "best", "latest"


def estimator_of(functions: Functions, model_dir: str, params: Mapping[str, Any]) -> Any:
    """Return the Estimator; where the platform is told of several devices, it trains on them."""
    config = _configuration(model_dir, params)
    if functions.maker == "model_fn":
        return tf.estimator.Estimator(functions.make, config=config)
    given = {"config": config, "params": params}
    if functions.maker == "estimator_fn":
        estimator = bind("estimator_fn", functions.make, given, ("config", "params"))()
        _check_estimator(estimator, model_dir)
        return estimator
    model = bind("keras_model_fn", functions.make, given, ("params",))()
    return tf.keras.estimator.model_to_estimator(model, config=config)


def _check_estimator(found: Any, model_dir: str) -> None:
    """See that an Estimator of the user's keeps its model where the platform looks for it."""
    if not isinstance(found, tf.estimator.Estimator):
        raise Refused(
            f"estimator_fn returned {type(found).__name__}, not an Estimator.",
            hint="Return tf.estimator.Estimator(model_fn, config=run_config), or one of "
            "TensorFlow's own estimators with config=run_config.",
        )
    if found.model_dir != model_dir:
        raise Refused(
            f"The Estimator of estimator_fn keeps its model in {found.model_dir}, which is gone "
            "with the job.",
            hint="Pass config=run_config to it, and no model_dir: the platform keeps the model.",
        )


def train_spec(functions: Functions, params: Mapping[str, Any], hooks: Sequence[Any]) -> Any:
    return tf.estimator.TrainSpec(
        functions.train_input_fn, max_steps=last_step(params), hooks=list(hooks)
    )


def eval_spec(functions: Functions, params: Mapping[str, Any], receiver: Callable[[], Any]) -> Any:
    # The service's second page: functions around the model, kept beside it for who serves it.
    beside = {os.path.basename(functions.file): functions.file} if functions.serves else None
    return tf.estimator.EvalSpec(
        functions.eval_input_fn,
        steps=params["eval_steps"],
        exporters=[
            BestExporter(BEST, receiver, beside),
            tf.estimator.LatestExporter(LATEST, receiver, assets_extra=beside),
        ],
        start_delay_secs=params["eval_start_delay_secs"],
        throttle_secs=params["eval_throttle_secs"],
    )


def last_step(params: Mapping[str, Any]) -> int | None:
    """Return the global step to end at: the manual counts the steps of every card of all machines.

    With several cards in one process it counts rounds of them; machines count one by one.
    """
    total: int | None = params["train_max_steps"]
    return None if total is None else max(1, total // max(1, cards()))


def cards() -> int:
    """Return the number of cards of this process."""
    shown = visible.seen() or ""
    return len([one for one in shown.split(",") if one.strip() and not one.startswith("-")])


def tell_start(estimator: Any) -> None:
    found = tf.train.latest_checkpoint(estimator.model_dir)
    if found:
        say(f"training goes on from {os.path.basename(found)}")


def tell_metrics(metrics: Mapping[str, Any]) -> None:
    step = metrics.get("global_step")
    shown = [
        f"{name} {value:.5g}" for name, value in sorted(metrics.items()) if name != "global_step"
    ]
    if shown:
        say(f"evaluation at step {step}: {', '.join(shown)}")


def _configuration(model_dir: str, params: Mapping[str, Any]) -> Any:
    steps, seconds = params["save_checkpoints_steps"], params["save_checkpoints_secs"]
    if steps is None and seconds is None:
        # An export is made from a checkpoint: the last one is written in any case.
        say("checkpoints are off: one is written at the end, and a restart begins anew")
        steps = _NEVER
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        save_checkpoints_steps=steps,
        save_checkpoints_secs=seconds,
        keep_checkpoint_max=params["keep_checkpoint_max"],
        log_step_count_steps=params["log_step_count_steps"],
        train_distribute=tf.distribute.MirroredStrategy() if cards() > 1 else None,
        experimental_max_worker_delay_secs=0,  # else the second machine waits 5 s, the third 10
    )
    return with_files_here(config)
