"""Says for whom a step waits: a worker that is gone keeps the others waiting until it is back."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.attendance import Marks
from moxing.tensorflow.executor.cluster.hosts import Peer
from moxing.tensorflow.executor.cluster.reach import Wait, answers

_LOOK = 5.0
_PATIENCE = 15.0
_NEXT_WORD = 60.0


class Watch(tf.train.SessionRunHook):
    """Looks, from a thread of its own, whether a step takes long because somebody is gone."""

    def __init__(self, others: Sequence[Peer]) -> None:
        self._others = others
        self._since: float | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="mox-watch", daemon=True)
            self._thread.start()

    def before_run(self, run_context: Any) -> None:
        self._since = time.monotonic()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._since = None

    def end(self, session: Any) -> None:
        self._over.set()

    def _look(self) -> None:
        silent_until = 0.0
        while not self._over.wait(_LOOK):
            since, now = self._since, time.monotonic()
            if since is None or now - since < _PATIENCE or now < silent_until:
                continue
            gone = [str(peer) for peer in self._others if not answers(peer)]
            if gone:
                silent_until = now + _NEXT_WORD
                tf.logging.warning(
                    "A step waits, for %.0f s now: %s does not answer.",
                    *(now - since, ", ".join(gone)),
                )


def wait_until(mark: int, workers: Sequence[Peer], marks: Marks) -> None:
    """Let workers get as far at their own pace; one that does not answer is not waited for."""
    wait = Wait()
    while True:
        there = marks.at(mark)
        left = [peer for peer in workers if peer.index not in there and answers(peer)]
        if not left:
            return
        wait.more(f"{', '.join(map(str, left))} to end")
