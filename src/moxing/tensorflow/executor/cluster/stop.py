"""One worker's decision to stop, made known to workers that do not wait for each other."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf


class StopTogether(tf.train.SessionRunHook):
    """``decided``: whether this worker's loop was told to stop.

    ``shared``: a stop that a hook asks for is everybody's too. It must be the last of the hooks.
    """

    def __init__(self, decided: Callable[[], bool], shared: bool, is_chief: bool) -> None:
        self._decided = decided
        self._shared = shared
        self._is_chief = is_chief
        self._asked = False
        with tf.device("/job:ps/task:0/device:CPU:0"):
            kept = tf.get_variable(
                "mox_stop",
                initializer=tf.constant(False),
                trainable=False,
                collections=[],
                use_resource=True,
            )
            self._begin = kept.initializer
            self._tell = kept.assign(True, read_value=False)
            self._told = tf.cond(kept.is_initialized(), kept.read_value, lambda: False)

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._is_chief:
            session.run(self._begin)

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._told)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._asked |= self._shared and run_context.stop_requested
        if run_values.results:
            run_context.request_stop()

    def tell(self, session: Any) -> None:
        """Tell the others, where there is something to tell."""
        if self._asked or self._decided():
            session.run(self._tell)


class Farewell(tf.train.SessionRunHook):
    """Tells the others, and then waits for them. It must be the first: checkpoints come after."""

    def __init__(self, stop: StopTogether, wait: Callable[[], None]) -> None:
        self._stop = stop
        self._wait = wait

    def end(self, session: Any) -> None:
        self._stop.tell(session)
        self._wait()
