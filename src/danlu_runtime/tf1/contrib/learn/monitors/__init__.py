"""`tf.contrib.learn.monitors`."""

from typing import Any

from danlu_runtime.tf1.contrib.learn.monitors.base import (
    BaseMonitor,
    EveryN,
    RunHookAdapterForMonitors,
    replace_monitors_with_hooks,
)
from danlu_runtime.tf1.contrib.learn.monitors.saving import (
    CheckpointSaver,
    ExportMonitor,
    SummarySaver,
    SummaryWriterCache,
)
from danlu_runtime.tf1.contrib.learn.monitors.validation import ValidationMonitor
from danlu_runtime.tf1.contrib.learn.monitors.watching import (
    CaptureVariable,
    GraphDump,
    LoggingTrainable,
    NanLoss,
    NanLossDuringTrainingError,
    PrintTensor,
    StepCounter,
    StopAtStep,
)

__all__ = [
    "BaseMonitor",
    "CaptureVariable",
    "CheckpointSaver",
    "EveryN",
    "ExportMonitor",
    "GraphDump",
    "LoggingTrainable",
    "NanLoss",
    "NanLossDuringTrainingError",
    "PrintTensor",
    "RunHookAdapterForMonitors",
    "StepCounter",
    "StopAtStep",
    "SummarySaver",
    "SummaryWriterCache",
    "ValidationMonitor",
    "get_default_monitors",
    "replace_monitors_with_hooks",
]


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
