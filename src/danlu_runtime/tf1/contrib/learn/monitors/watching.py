"""Monitors that look on: print, count, capture, stop."""

import time
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.monitors.base import BaseMonitor, EveryN

__all__ = [
    "CaptureVariable",
    "GraphDump",
    "LoggingTrainable",
    "NanLoss",
    "NanLossDuringTrainingError",
    "PrintTensor",
    "StepCounter",
    "StopAtStep",
]

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
    """Ends training when the loss is no number; with an error unless told otherwise."""

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

    IGNORE_OPS = ("Const", "Assign", "Identity", "Placeholder", "RandomUniform", "Cast")
    IGNORE_OPS += ("RestoreSlice", "VariableV2", "Variable")

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
