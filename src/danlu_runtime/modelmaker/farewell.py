"""The end of a training on several machines: every worker's last step is in the last checkpoint."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from danlu_runtime.modelmaker.machines import Part

_LOOK = 0.1  # seconds


class _Marks(tf.train.SessionRunHook):
    """Who has ended: a mark for each worker, kept on the parameter server."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._ended: list[Any] = []

    def begin(self) -> None:
        with tf.device("/job:ps/task:0/device:CPU:0"), tf.variable_scope("", reuse=False):
            self._ended = [self._mark(worker) for worker in range(self._workers)]

    def _mark(self, worker: int) -> Any:
        return tf.get_variable(
            f"danlu_ended/{worker}",
            initializer=tf.constant(False),
            trainable=False,
            collections=[],  # neither saved nor waited for
            use_resource=True,
        )


class Leaving(_Marks):
    """For a worker: says that it has made its last step."""

    def __init__(self, mine: Part) -> None:
        super().__init__(mine.trainers - 1)
        self._index = mine.index

    def begin(self) -> None:
        super().begin()
        self._leave = self._ended[self._index].assign(True, read_value=False)

    def end(self, session: Any) -> None:
        session.run(self._leave)


class Gathering(_Marks):
    """For the chief: waits for the workers before the last checkpoint is written.

    One that fails ends the job, so nobody is waited for in vain.
    """

    def __init__(self, mine: Part) -> None:
        super().__init__(mine.trainers - 1)

    def begin(self) -> None:
        super().begin()
        self._there = [
            tf.cond(mark.is_initialized(), mark.read_value, lambda: tf.constant(False))
            for mark in self._ended
        ]

    def wait(self, session: Any) -> None:
        while not all(session.run(self._there)):
            time.sleep(_LOOK)


@contextmanager
def before_last_checkpoint(gathering: Gathering) -> Iterator[None]:
    """Let the chief's saver wait: an Estimator makes it itself, and asks it to end first."""
    saver = tf.train.CheckpointSaverHook
    end = saver.end

    def wait_and_end(self: Any, session: Any) -> None:
        gathering.wait(session)
        end(self, session)

    saver.end = wait_and_end
    try:
        yield
    finally:
        saver.end = end
