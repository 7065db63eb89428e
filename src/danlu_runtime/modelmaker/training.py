"""Trains, evaluates and exports with the user's functions, in one process."""

import json
import math
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from danlu.errors import Refused
from danlu.messages import get_message
from danlu_runtime import gpus
from danlu_runtime.fused import refusals
from danlu_runtime.fused.estimator import fused_steps
from danlu_runtime.modelmaker import diagnostics, machines
from danlu_runtime.modelmaker.export_check import check_export, newest, versions
from danlu_runtime.modelmaker.functions import Functions, bind, load
from danlu_runtime.modelmaker.machines import with_files_here
from danlu_runtime.modelmaker.rehearsal import rehearse
from danlu_runtime.reports.notes import print_message

_LOOK = 0.5  # seconds between two checks for a checkpoint


def evaluate(estimator: Any, spec: Any, over: threading.Event) -> Mapping[str, Any]:
    """Evaluate and export new checkpoints and the last one; return its metrics.

    TensorFlow's own evaluator must know the last step, and sleeps past the end of the training.
    """
    evaluator = _evaluator(estimator, spec)
    metrics: Mapping[str, Any] = {}
    over.wait(spec.start_delay_secs)
    while True:
        last = over.is_set()  # checked first: nothing is written after that
        began = time.monotonic()
        try:
            result, _ = evaluator.evaluate_and_export()
        except tf.errors.NotFoundError:
            if last:
                raise
            over.wait(_LOOK)  # a newer checkpoint has replaced this one
            continue
        metrics = result.metrics or metrics
        if last:
            return metrics
        pause = spec.throttle_secs if result.metrics else 0
        over.wait(max(_LOOK, began + pause - time.monotonic()))


def evaluate_last(estimator: Any, spec: Any) -> Mapping[str, Any]:
    """Evaluate and export the last checkpoint; return its metrics, empty if there is none.

    A training that has already reached its last step makes no further step and evaluates nothing.
    The process that made that step may have been killed before the export.
    """
    result, _ = _evaluator(estimator, spec).evaluate_and_export()
    return result.metrics or {}


def _evaluator(estimator: Any, spec: Any) -> Any:
    from tensorflow_estimator.python.estimator import training

    return training._TrainingExecutor._Evaluator(estimator, spec, None)


EVALUATION = "evaluation.json"  # file in assets.extra


class BestExporter(tf.estimator.Exporter):
    """Exporter that exports the model if its loss is smaller than that of the last export.

    The metrics are stored inside the export and survive a restart. TensorFlow's own BestExporter
    exports the first evaluation after a restart in any case and removes the better model.
    """

    def __init__(
        self, name: str, receiver: Callable[[], Any], beside: Mapping[str, str] | None
    ) -> None:
        self._name = name
        self._receiver = receiver
        self._beside = beside or {}

    @property
    def name(self) -> str:
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> Any:
        del is_the_final_export
        if not _is_better(float(eval_result["loss"]), _kept_loss(export_path)):
            return None
        with tempfile.TemporaryDirectory(prefix="danlu-") as folder:
            file = os.path.join(folder, EVALUATION)
            with open(file, "w", encoding="utf-8") as stream:
                json.dump(_numbers(eval_result), stream, indent=1, sort_keys=True)
            made = estimator.export_saved_model(
                export_path,
                self._receiver,
                assets_extra={**self._beside, EVALUATION: file},
                checkpoint_path=checkpoint_path,
            )
        _keep_only(export_path, os.path.basename(os.fsdecode(made)))
        return made


def _is_better(loss: float, kept: float | None) -> bool:
    return kept is None or math.isnan(kept) or loss < kept


def _kept_loss(folder: str) -> float | None:
    """Return the loss of the last exported model, None if there is no model or no loss."""
    file = os.path.join(newest(folder), "assets.extra", EVALUATION)
    if not os.path.isfile(file):
        return None
    with open(file, encoding="utf-8") as stream:
        return float(json.load(stream)["loss"])


def _numbers(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics that are numbers; others, such as images, are in the event files."""
    return {
        name: np.asarray(value).item()
        for name, value in evaluation.items()
        if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "biuf"
    }


def _keep_only(folder: str, version: str) -> None:
    for other in versions(folder):
        if other != version:
            shutil.rmtree(os.path.join(folder, other))


NEVER = 1 << 62  # steps between two checkpoints


@contextmanager
def no_first_checkpoint() -> Iterator[None]:
    """Keep a saver with a period of NEVER steps from saving when its session is created.

    An Estimator creates its CheckpointSaverHook itself, and that hook always saves the first step.
    Savers with another period are not changed.
    """
    saver = tf.train.CheckpointSaverHook
    create, end = saver.after_create_session, saver.end

    def create_unsaved(self: Any, session: Any, coord: Any) -> None:
        if not _is_off(self):
            create(self, session, coord)
            return
        self._save = lambda session, step: False
        try:
            create(self, session, coord)
        finally:
            del self._save

    def end_and_report(self: Any, session: Any) -> None:
        is_due = _is_off(self) and self._timer.last_triggered_step() != session.run(
            self._global_step_tensor
        )
        end(self, session)
        found = tf.train.latest_checkpoint(self._checkpoint_dir) if is_due else None
        if found:
            print_message(get_message("modelmaker.only_checkpoint", found=os.path.basename(found)))

    saver.after_create_session, saver.end = create_unsaved, end_and_report
    try:
        yield
    finally:
        saver.after_create_session, saver.end = create, end


def _is_off(hook: Any) -> bool:
    return bool(getattr(hook._timer, "_every_steps", None) == NEVER)


BEST, LATEST = "best", "latest"


def estimator_of(functions: Functions, model_dir: str, params: Mapping[str, Any]) -> Any:
    """Return the Estimator; it trains on several GPUs if the process has several."""
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
    """Check that the user's Estimator stores its model in the platform's directory."""
    if not isinstance(found, tf.estimator.Estimator):
        raise Refused.from_key("modelmaker.no_estimator", name__=type(found).__name__)
    if found.model_dir != model_dir:
        raise Refused.from_key("modelmaker.own_model_dir", model_dir=found.model_dir)


def train_spec(functions: Functions, params: Mapping[str, Any], hooks: Sequence[Any]) -> Any:
    return tf.estimator.TrainSpec(
        functions.train_input_fn, max_steps=last_step(params), hooks=list(hooks)
    )


def eval_spec(functions: Functions, params: Mapping[str, Any], receiver: Callable[[], Any]) -> Any:
    # The service's second page: functions around the model. The file is exported with the model.
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
    """Return the global step at which training ends.

    The manual counts the steps of every GPU of all machines. With several GPUs in one process the
    global step counts rounds of all GPUs. Machines count one by one.
    """
    total: int | None = params["train_max_steps"]
    return None if total is None else max(1, total // max(1, cards()))


def cards() -> int:
    """Return the number of GPUs of this process."""
    shown = gpus.seen() or ""
    return len([one for one in shown.split(",") if one.strip() and not one.startswith("-")])


def report_start(estimator: Any) -> None:
    found = tf.train.latest_checkpoint(estimator.model_dir)
    if found:
        print_message(get_message("modelmaker.goes_on", found=os.path.basename(found)))


def report_metrics(metrics: Mapping[str, Any]) -> None:
    step = metrics.get("global_step")
    shown = [
        f"{name} {value:.5g}" for name, value in sorted(metrics.items()) if name != "global_step"
    ]
    if shown:
        print_message(get_message("modelmaker.evaluation", step=step, shown=", ".join(shown)))


def _configuration(model_dir: str, params: Mapping[str, Any]) -> Any:
    steps, seconds = params["save_checkpoints_steps"], params["save_checkpoints_secs"]
    if steps is None and seconds is None:
        # The last checkpoint is always written, because the export needs one.
        print_message(get_message("modelmaker.checkpoints_off"))
        steps = NEVER
    config = tf.estimator.RunConfig(
        model_dir=model_dir,
        save_checkpoints_steps=steps,
        save_checkpoints_secs=seconds,
        keep_checkpoint_max=params["keep_checkpoint_max"],
        log_step_count_steps=params["log_step_count_steps"],
        train_distribute=tf.distribute.MirroredStrategy() if cards() > 1 else None,
        # Otherwise the second machine waits 5 s and the third 10 s.
        experimental_max_worker_delay_secs=0,
    )
    return with_files_here(config)


def train(run: str, path: str, model_dir: str, params: Mapping[str, Any]) -> None:
    """Rehearse, train, evaluate and export, as the service does for a file with functions."""
    tf.logging.set_verbosity(tf.logging.INFO)
    refusals.is_asked()  # reports an invalid value first
    tf.enable_resource_variables()  # only resource variables can be used in fused steps
    functions = load(run, path, params)
    if (count := cards()) > 1:
        shared = machines.on_cards(functions.train_input_fn, count)
        functions = replace(functions, train_input_fn=shared)
    estimator = estimator_of(functions, model_dir, params)
    receiver, batch = rehearse(functions, estimator)
    report_start(estimator)
    evaluation = eval_spec(functions, params, receiver)
    with fused_steps(estimator) as hooks, no_first_checkpoint(), diagnostics.training():
        metrics, _ = tf.estimator.train_and_evaluate(
            estimator, train_spec(functions, params, hooks), evaluation
        )
    report_metrics(metrics or evaluate_last(estimator, evaluation))
    check_export(os.path.join(model_dir, "export", LATEST), batch)
