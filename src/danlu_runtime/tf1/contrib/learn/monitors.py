"""`tf.contrib.learn.monitors`."""

import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.estimator import public

# Monitors, the older hooks: what `fit(monitors=…)` takes, and the hook that drives them.


class BaseMonitor:
    """Base of the monitors: called when training and each step begin and end."""

    def __init__(self) -> None:
        self._begun = False
        self._max_steps: int | None = None
        self._estimator: Any = None
        self._estimator_locked = False

    @property
    def run_on_all_workers(self) -> bool:
        return False

    def set_estimator(self, estimator: Any) -> None:
        if self._estimator_locked:
            return
        if estimator is None:
            raise ValueError("Missing estimator.")
        self._estimator = estimator

    def _lock_estimator(self) -> None:
        self._estimator_locked = True

    def _unlock_estimator(self) -> None:
        self._estimator_locked = False

    def begin(self, max_steps: int | None = None) -> None:
        """Called once before the session exists: ops may be added to the graph."""
        if self._begun:
            raise ValueError("begin called twice without end.")
        self._max_steps = max_steps
        self._begun = True

    def end(self, session: Any = None) -> None:
        if not self._begun:
            raise ValueError("end called without begin.")
        self._max_steps = None
        self._begun = False

    def epoch_begin(self, epoch: int) -> None:
        """Kept for subclasses; the loop has no epochs."""

    def epoch_end(self, epoch: int) -> None:
        """Kept for subclasses; the loop has no epochs."""

    def step_begin(self, step: int) -> Any:
        """Return the tensors, or their names, that `step_end` wants to see."""
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        """Return True to stop training."""
        return False

    def post_step(self, step: int, session: Any) -> None:
        """Called after the step with its session."""


class EveryN(BaseMonitor):
    """Acts at the first `first_n_steps`, then every `every_n_steps`, and once at the end."""

    def __init__(self, every_n_steps: int = 100, first_n_steps: int = 1) -> None:
        super().__init__()
        self._every_n_steps = every_n_steps
        self._first_n_steps = first_n_steps
        self._last_successful_step: int | None = None
        self._last_active_step = 0
        self._every_n_step_begin_called = False

    def every_n_step_begin(self, step: int) -> Any:
        return []

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        return False

    def every_n_post_step(self, step: int, session: Any) -> None:
        pass

    def step_begin(self, step: int) -> Any:
        super().step_begin(step)
        due = (
            step <= self._first_n_steps
            or step >= self._every_n_steps + self._last_active_step
            or step == self._max_steps
        )
        self._every_n_step_begin_called = due
        return self.every_n_step_begin(step) if due else []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        return self.every_n_step_end(step, output) if self._every_n_step_begin_called else False

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._every_n_step_begin_called:
            self.every_n_post_step(step, session)
            self._last_active_step = step
        self._last_successful_step = step

    def end(self, session: Any = None) -> None:
        super().end(session)
        last = self._last_successful_step
        if last is not None and last != self._last_active_step:
            self.every_n_post_step(last, session)


class RunHookAdapterForMonitors(tf.train.SessionRunHook):
    """One hook that drives monitors by the global step."""

    def __init__(self, monitors: Iterable[BaseMonitor]) -> None:
        self._monitors = list(monitors)
        self._step: int | None = None

    def begin(self) -> None:
        self._step = None
        self._global_step = tf.train.get_global_step()
        for monitor in self._monitors:
            monitor.begin(max_steps=None)

    def before_run(self, run_context: Any) -> Any:
        session = run_context.session
        if self._step is None:
            self._step = int(session.run(self._global_step)) + 1
        wanted: dict[Any, Any] = {}
        for monitor in self._monitors:
            for item in monitor.step_begin(self._step) or []:
                wanted[item] = _graph_element(item, session.graph)
        return tf.train.SessionRunArgs([self._global_step, wanted])

    def after_run(self, run_context: Any, run_values: Any) -> None:
        global_step, output = run_values.results
        step = self._step or 0
        for monitor in self._monitors:
            if monitor.step_end(step, output):
                run_context.request_stop()
        for monitor in self._monitors:
            monitor.post_step(step, run_context.session)
        self._step = int(global_step) + 1

    def end(self, session: Any) -> None:
        self._step = None
        for monitor in self._monitors:
            if "session" in inspect.signature(monitor.end).parameters:
                monitor.end(session=session)
            else:
                monitor.end()


def replace_monitors_with_hooks(monitors_or_hooks: Any, estimator: Any) -> list[Any]:
    """Return hooks: those given, and one that drives the monitors given."""
    given = list(monitors_or_hooks or [])
    hooks = [item for item in given if isinstance(item, tf.train.SessionRunHook)]
    monitors = [item for item in given if not isinstance(item, tf.train.SessionRunHook)]
    for monitor in monitors:
        monitor.set_estimator(estimator)
    if not getattr(estimator.config, "is_chief", True):
        monitors = [monitor for monitor in monitors if monitor.run_on_all_workers]
    if monitors:
        hooks.append(RunHookAdapterForMonitors(monitors))
    return hooks


def _graph_element(item: Any, graph: Any) -> Any:
    if not isinstance(item, str):
        return graph.as_graph_element(item)
    try:
        return graph.as_graph_element(item)
    except KeyError:
        # A variable's name without ":0" is not an operation of every graph.
        return graph.as_graph_element(f"{item}:0")


# Monitors that look on: print, count, capture, stop.


NanLossDuringTrainingError = tf.train.NanLossDuringTrainingError


class StopAtStep(BaseMonitor):
    """Stops after `num_steps` more steps, or at the global step `last_step`."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        super().__init__()
        if (num_steps is None) == (last_step is None):
            raise ValueError("One of num_steps or last_step must be specified, and only one.")
        self._num_steps = num_steps
        self._last_step = last_step

    @property
    def run_on_all_workers(self) -> bool:
        return True

    def step_begin(self, step: int) -> Any:
        super().step_begin(step)
        if self._last_step is None:
            self._last_step = step + (self._num_steps or 0) - 1
        return []

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        return self._last_step is not None and step >= self._last_step


class PrintTensor(EveryN):
    """Logs tensors, by name, or by a tag of the user's choice."""

    def __init__(self, tensor_names: Any, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        named = tensor_names.items() if isinstance(tensor_names, dict) else None
        self._tensor_names = dict(named or ((name, name) for name in tensor_names))

    def every_n_step_begin(self, step: int) -> Any:
        return list(self._tensor_names.values())

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        stats = [
            f"{tag} = {outputs[name]}"
            for tag, name in self._tensor_names.items()
            if name in outputs
        ]
        tf.logging.info("Step %d: %s", step, ", ".join(stats))
        return False


class LoggingTrainable(EveryN):
    """Logs the trainable variables of a scope."""

    def __init__(self, scope: str | None = None, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._scope = scope
        self._names: list[str] = []

    def every_n_step_begin(self, step: int) -> Any:
        self._names = [v.name for v in tf.trainable_variables(self._scope)]
        return self._names

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        stats = [f"{name} = {outputs[name]}" for name in self._names if name in outputs]
        tf.logging.info("Logging Trainable: Step %d: %s", step, ", ".join(stats))
        return False


class CaptureVariable(EveryN):
    """Keeps the values of one variable by step, in `values`."""

    def __init__(self, var_name: str, every_n: int = 100, first_n: int = 1) -> None:
        super().__init__(every_n, first_n)
        self._var_name = var_name
        self._values: dict[int, Any] = {}

    @property
    def values(self) -> dict[int, Any]:
        return self._values

    def every_n_step_begin(self, step: int) -> Any:
        return [self._var_name]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        self._values[step] = outputs[self._var_name]
        return False


class NanLoss(EveryN):
    """Ends training when the loss is no number; by default with an error."""

    def __init__(
        self, loss_tensor: Any, every_n_steps: int = 100, fail_on_nan_loss: bool = True
    ) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def every_n_step_begin(self, step: int) -> Any:
        return [self._loss_tensor]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        if not np.isnan(outputs[self._loss_tensor]).any():
            return False
        if self._fail_on_nan_loss:
            raise NanLossDuringTrainingError()
        tf.logging.warning("Model diverged with loss = NaN.")
        return True


class StepCounter(EveryN):
    """Writes how many steps a second were done, as `global_step/sec`."""

    def __init__(
        self, every_n_steps: int = 100, output_dir: str | None = None, summary_writer: Any = None
    ) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._summary_writer = summary_writer
        if summary_writer is None and output_dir:
            self._summary_writer = tf.summary.FileWriterCache.get(output_dir)
        self._last_step: int | None = None
        self._last_time = 0.0

    def set_estimator(self, estimator: Any) -> None:
        super().set_estimator(estimator)
        if self._summary_writer is None:
            self._summary_writer = tf.summary.FileWriterCache.get(estimator.model_dir)

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        now = time.time()
        if self._last_step is not None and self._summary_writer is not None:
            rate = (step - self._last_step) / max(now - self._last_time, 1e-9)
            value = tf.Summary.Value(tag="global_step/sec", simple_value=rate)
            self._summary_writer.add_summary(tf.Summary(value=[value]), step)
        self._last_step, self._last_time = step, now
        return False


class GraphDump(BaseMonitor):
    """Keeps every tensor of every step in `data`: for comparing two runs of a small graph."""

    IGNORE_OPS = (
        *("Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast"),
        *("RestoreSlice", "VariableV2", "Variable"),
    )

    def __init__(self, ignore_ops: Any = None) -> None:
        super().__init__()
        self._ignore_ops = ignore_ops or GraphDump.IGNORE_OPS
        self._data: dict[int, dict[str, Any]] = {}

    @property
    def data(self) -> dict[int, dict[str, Any]]:
        return self._data

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        self._tensors = [
            output.name
            for op in tf.get_default_graph().get_operations()
            if op.type not in self._ignore_ops
            for output in op.outputs
            if not output.dtype._is_ref_dtype
        ]

    def step_begin(self, step: int) -> Any:
        super().step_begin(step)
        return self._tensors

    def step_end(self, step: int, output: dict[Any, Any]) -> bool:
        super().step_end(step, output)
        self._data[step] = {name: output[name] for name in self._tensors if name in output}
        return False

    def compare(
        self, other_dump: "GraphDump", step: int, atol: float = 1e-06
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the tensors of `step` that agree with another dump, and those that do not."""
        matched: list[str] = []
        differing: dict[str, Any] = {}
        for key in self._data[step].keys() & other_dump.data[step].keys():
            ours, theirs = self._data[step][key], other_dump.data[step][key]
            if np.allclose(ours, theirs, atol=atol):
                matched.append(key)
            else:
                differing[key] = (ours, theirs)
        return matched, differing


# Monitors that write: checkpoints, summaries, exports.


SummaryWriterCache = tf.summary.FileWriterCache


class SummarySaver(EveryN):
    """Writes a summary op every `save_steps`."""

    def __init__(
        self,
        summary_op: Any = None,
        save_steps: int = 100,
        output_dir: str | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
    ) -> None:
        super().__init__(every_n_steps=save_steps)
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._writer = summary_writer
        if summary_writer is None and output_dir:
            self._writer = SummaryWriterCache.get(output_dir)

    def set_estimator(self, estimator: Any) -> None:
        super().set_estimator(estimator)
        if self._writer is None:
            self._writer = SummaryWriterCache.get(estimator.model_dir)

    def every_n_step_begin(self, step: int) -> Any:
        op = self._summary_op
        if op is None and self._scaffold is not None:
            op = self._scaffold.summary_op
        self._fetched = op
        return [] if op is None else [op]

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        if self._fetched is not None and self._writer is not None:
            self._writer.add_summary(outputs[self._fetched], step)
        return False

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        if self._writer is not None:
            self._writer.flush()


class CheckpointSaver(BaseMonitor):
    """Writes a checkpoint every `save_steps` steps or `save_secs` seconds, and at the end."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: int | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
    ) -> None:
        super().__init__()
        if (save_secs is None) == (save_steps is None):
            raise ValueError("Exactly one of save_steps and save_secs must be provided.")
        self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
        self._scaffold = scaffold
        self._saver = saver
        self._save_secs = save_secs
        self._save_steps = save_steps
        self._last_saved_time: float | None = None
        self._last_saved_step: int | None = None
        self._last_step: int | None = None

    def begin(self, max_steps: int | None = None) -> None:
        super().begin(max_steps)
        self._last_saved_time = self._last_saved_step = self._last_step = None

    def step_begin(self, step: int) -> Any:
        super().step_begin(step)
        self._last_step = step
        return []

    def post_step(self, step: int, session: Any) -> None:
        super().post_step(step, session)
        if self._due(step):
            self._save(step, session)

    def end(self, session: Any = None) -> None:
        super().end(session)
        if self._last_step is not None and session is not None:
            self._save(self._last_step, session)

    def _due(self, step: int) -> bool:
        if self._last_saved_step is None or self._last_saved_time is None:
            return True
        if self._save_steps is not None:
            return step >= self._last_saved_step + self._save_steps
        return time.time() >= self._last_saved_time + (self._save_secs or 0)

    def _save(self, step: int, session: Any) -> None:
        if step == self._last_saved_step:
            return
        saver = self._saver or (self._scaffold.saver if self._scaffold else None)
        if saver is None:
            (saver,) = tf.get_collection(tf.GraphKeys.SAVERS)[:1] or (None,)
        if saver is None:
            raise ValueError("CheckpointSaver needs a saver or a scaffold that has one.")
        self._last_saved_step, self._last_saved_time = step, time.time()
        saver.save(session, self._save_path, global_step=step)


class ExportMonitor(EveryN):
    """Exports the estimator every `every_n_steps`, as a SavedModel named by its step."""

    def __init__(
        self,
        every_n_steps: int,
        export_dir: str,
        input_fn: Callable[..., Any] | None = None,
        input_feature_key: str | None = None,
        exports_to_keep: int | None = 5,
        signature_fn: Callable[..., Any] | None = None,
        default_batch_size: int | None = 1,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps)
        self._export_dir = export_dir
        self._options: dict[str, Any] = {
            "input_fn": input_fn,
            "input_feature_key": input_feature_key,
            "use_deprecated_input_fn": input_fn is None,
            "signature_fn": signature_fn,
            "default_batch_size": default_batch_size,
            "exports_to_keep": exports_to_keep,
        }
        self._last_export_dir: str | None = None

    @property
    def export_dir(self) -> str:
        return self._export_dir

    @property
    def exports_to_keep(self) -> int | None:
        return self._options["exports_to_keep"]

    @property
    def signature_fn(self) -> Callable[..., Any] | None:
        return self._options["signature_fn"]

    @property
    def last_export_dir(self) -> str | None:
        return self._last_export_dir

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        self._export()
        return False

    def end(self, session: Any = None) -> None:
        super().end(session=session)
        # The estimator writes its last checkpoint before monitors hear of the end.
        self._export()

    def _export(self) -> None:
        if tf.train.latest_checkpoint(self._estimator.model_dir) is None:
            tf.logging.info("Skipping export because model has not been saved yet.")
            return
        self._last_export_dir = self._estimator.export(self._export_dir, **self._options)


# The monitor that evaluates while training goes on, and stops it when it no longer helps.


class ValidationMonitor(EveryN):
    """Evaluates each new checkpoint; stops when a metric is no better for so many steps."""

    def __init__(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        eval_steps: int | None = None,
        every_n_steps: int = 100,
        metrics: Mapping[Any, Any] | None = None,
        hooks: Any = None,
        early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss",
        early_stopping_metric_minimize: bool = True,
        name: str | None = None,
        check_interval_secs: float = 5,
    ) -> None:
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self._data = {"x": x, "y": y, "input_fn": input_fn, "batch_size": batch_size}
        self._options = {"steps": eval_steps, "hooks": hooks, "name": name}
        self.metrics = metrics
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize
        self.check_interval_secs = check_interval_secs
        self._best_value: Any = None
        self._best_value_step: int | None = None
        self._best_metrics: dict[str, Any] | None = None
        self._early_stopped = False
        self._latest_path: str | None = None
        self._last_check: float | None = None

    @property
    def early_stopped(self) -> bool:
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        return self._best_value_step

    @property
    def best_value(self) -> Any:
        return self._best_value

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        now = time.time()
        if self._last_check is not None and now - self._last_check < self.check_interval_secs:
            return False
        self._last_check = now
        latest = tf.train.latest_checkpoint(self._estimator.model_dir)
        if latest is None or latest == self._latest_path:
            return False
        self._latest_path = latest
        results = self._evaluate(latest)
        tf.logging.info("Validation (step %d): %s", step, _told(results))
        return self._judge(results, _step_of(latest, step))

    def _evaluate(self, checkpoint: str) -> dict[str, Any]:
        if isinstance(self._estimator, public().Estimator):
            if any(self._data[key] is not None for key in ("x", "y", "batch_size")) or self.metrics:
                raise ValueError(
                    "tf.estimator.Estimator does not support x, y, batch_size or metrics here; "
                    "give an input_fn, and the metrics in the model_fn."
                )
            return self._estimator.evaluate(
                self._data["input_fn"], checkpoint_path=checkpoint, **self._options
            )
        return self._estimator.evaluate(
            **self._data, metrics=self.metrics, checkpoint_path=checkpoint, **self._options
        )

    def _judge(self, results: dict[str, Any], step: int) -> bool:
        if self.early_stopping_rounds is None:
            return False
        if self.early_stopping_metric not in results:
            raise ValueError(
                f"Metric {self.early_stopping_metric} missing from outputs {sorted(results)}."
            )
        value = results[self.early_stopping_metric]
        best = self._best_value
        if best is None or (value < best if self.early_stopping_metric_minimize else value > best):
            self._best_value, self._best_value_step, self._best_metrics = value, step, results
        best_step = self._best_value_step or 0
        if step - best_step < self.early_stopping_rounds:
            return False
        tf.logging.info(
            "Stopping. Best step: %d with %s = %s.",
            best_step,
            self.early_stopping_metric,
            self._best_value,
        )
        self._early_stopped = True
        return True


def _step_of(checkpoint: str, otherwise: int) -> int:
    number = os.path.basename(checkpoint).rpartition("-")[2]
    return int(number) if number.isdigit() else otherwise


def _told(results: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in sorted(results.items()))


def get_default_monitors(
    loss_op: Any = None,
    summary_op: Any = None,
    save_summary_steps: int = 100,
    output_dir: str | None = None,
    summary_writer: Any = None,
) -> list[BaseMonitor]:
    """Return the monitors every training had: the loss printed, the summaries written."""
    monitors: list[BaseMonitor] = []
    if loss_op is not None:
        monitors.append(PrintTensor(tensor_names={"loss": loss_op.name}))
    if summary_op is not None:
        monitors.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
    return monitors
