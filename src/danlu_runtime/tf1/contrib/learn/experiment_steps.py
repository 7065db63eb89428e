"""What an Experiment does between trainings: waits, reports, serves its task of a cluster."""

import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn import monitors
from danlu_runtime.tf1.contrib.learn.export_strategy import ExportStrategy

_WARN_EVERY = 600


def watch_checkpoints(
    model_dir: str,
    evaluate: Callable[[str], Any],
    throttle: float,
    only_once: bool,
    go_on: Callable[[Any], bool] | None,
    last_step: int | None,
) -> None:
    """Evaluate each new checkpoint until the last step, or until `go_on(result)` is False."""
    previous, result, warned = None, None, 0.0
    while go_on is None or go_on(result):
        start = time.time()
        latest = tf.train.latest_checkpoint(model_dir)
        if latest and not (only_once and latest == previous):
            result = evaluate(latest)
            previous, warned = latest, 0.0
        else:
            result = {}
            if start - warned > _WARN_EVERY:
                tf.logging.warning("No new checkpoint is ready for evaluation.")
                warned = start
        step = result.get(tf.GraphKeys.GLOBAL_STEP)
        if step is not None and last_step is not None and step >= last_step:
            return
        wait(throttle - (time.time() - start), "next eval run")


class ReportingValidation(monitors.ValidationMonitor):
    """Tells the result of each evaluation to a function: with `checkpoint_and_export`, exports."""

    def __init__(self, then: Callable[[Any], Any] | None, **options: Any) -> None:
        super().__init__(**options)
        self._then = then

    def _judge(self, results: dict[str, Any], step: int) -> bool:
        if self._then is not None:
            self._then(results)
        return super()._judge(results, step)


def wait(seconds: float, what: str) -> None:
    if seconds > 0:
        tf.logging.info("Waiting %d secs before starting %s.", seconds, what)
        time.sleep(seconds)


def check_predicate(predicate: Any) -> None:
    if predicate is not None and not callable(predicate):
        raise ValueError("`continuous_eval_predicate_fn` must be a callable, or None.")


def as_strategies(value: Any) -> list[ExportStrategy]:
    """Return one strategy, several or none as a list."""
    if value is None:
        return []
    if isinstance(value, ExportStrategy):
        return [value]
    if isinstance(value, list | tuple):
        return list(value)
    raise ValueError(
        "`export_strategies` must be an ExportStrategy, a list of ExportStrategies, or None, got "
        f"{value!r}."
    )


def has_finished(model_dir: str, train_steps: int | None) -> bool:
    """Tell whether the latest checkpoint has reached the last step."""
    latest = tf.train.latest_checkpoint(model_dir)
    if train_steps is None or latest is None:
        return False
    reader = tf.train.NewCheckpointReader(latest)
    return bool(reader.get_tensor(tf.GraphKeys.GLOBAL_STEP) >= train_steps)


def start_server(config: Any) -> Any:
    """Start the server of this task and return it."""
    if not (config.cluster_spec and config.task_type and config.master):
        raise ValueError(
            "Could not start server; be sure to specify cluster_spec, task_type, master, and "
            "task in RunConfig or set the TF_CONFIG environment variable."
        )
    return tf.train.Server(
        config.cluster_spec,
        job_name=config.task_type,
        task_index=config.task_id,
        config=getattr(config, "tf_config", None) or config.session_config,
        start=True,
    )
