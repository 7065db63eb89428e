"""Monitors that write: checkpoints, summaries, exports."""

import os
import time
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.learn.monitors.base import BaseMonitor, EveryN

__all__ = ["CheckpointSaver", "ExportMonitor", "SummarySaver", "SummaryWriterCache"]

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
        self._options = {
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
