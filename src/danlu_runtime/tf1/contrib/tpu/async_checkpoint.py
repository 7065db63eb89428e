"""`tensorflow.contrib.tpu.python.tpu.async_checkpoint`: checkpoints written beside training."""

import os
import threading
from typing import Any

import tensorflow.compat.v1 as tf


class AsyncCheckpointSaverHook(tf.train.CheckpointSaverHook):
    """Saves in a thread of its own; a save that is due while one is written is left out.

    The last checkpoint is written before training is reported as ended.
    """

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: int | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
    ) -> None:
        self._thread: threading.Thread | None = None
        super().__init__(
            checkpoint_dir,
            save_secs=save_secs,
            save_steps=save_steps,
            saver=saver,
            checkpoint_basename=checkpoint_basename,
            scaffold=scaffold,
            listeners=listeners,
        )
        self._folder = checkpoint_dir

    def _save(self, session: Any, step: int) -> bool:
        if self._thread is not None and self._thread.is_alive():
            return False
        for listener in self._listeners:
            listener.before_save(session, step)

        def write() -> None:
            tf.logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
            self._get_saver().save(session, self._save_path, global_step=step)
            for listener in self._listeners:
                listener.after_save(session, step)

        self._thread = threading.Thread(target=write, name=f"checkpoint-{step}")
        self._thread.start()
        return False

    def end(self, session: Any) -> None:
        if self._thread is not None:
            self._thread.join()
        step = session.run(self._global_step_tensor)
        latest = os.path.basename(tf.train.latest_checkpoint(self._folder) or "")
        if not latest.endswith(f"-{step}"):
            super()._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
