"""An optimizer with which every worker waits for the others at every step."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.workers import Exchange, Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs, counted


class SimpleSyncOptimizer(OptimizerWrapper):
    """Applies the mean gradient of ``num_workers`` workers; for ``--sync_replicas=False``.

    With ``--chief_inc_global_step`` one update is one step; without it every worker counts.
    """

    def __init__(self, opt: Any, num_workers: int = 1, task_index: int = 0) -> None:
        super().__init__(opt, "SimpleSync")
        if not 0 <= task_index < num_workers:
            raise ValueError(
                f"task_index of SimpleSyncOptimizer must be one of {num_workers} worker(s), "
                f"counted from 0, got {task_index!r}."
            )
        self._workers = Workers(num_workers, task_index)
        self._exchange: Exchange | None = None

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        if not self._workers.several:
            return self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        with tf.name_scope(name, self._name):
            self._exchange = Exchange(self._workers, pairs)
            done = self._exchange.apply(self._optimizer.apply_gradients)
        return counted(done, global_step, name)

    def session_run_hooks(self) -> list[tf.train.SessionRunHook]:
        return [self._exchange.hook()] if self._exchange else []
