"""The status of workers, stored on the parameter servers, and reports about stalled steps.

A worker that is gone keeps the others waiting until it is back.
"""

import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.hosts import Peer, Wait, answers

HERE, FINISHED, GONE = 1, 2, 3  # 0: not seen yet; finished: it has done its last step


class WorkerStatus:
    """The status marks of the workers of one run.

    The marks are in a separate graph and outlive every training session. ``servers`` are the
    parameter servers that store them. A server that passes only itself needs no other one.
    """

    def __init__(
        self, target: str, config: tf.ConfigProto, run: str, servers: Iterable[int], workers: int
    ) -> None:
        self._target = target
        self._config = config
        self._graph = tf.Graph()
        with self._graph.as_default(), self._graph.container(run):
            self._given = tf.placeholder(tf.int32, [], "given")
            marks = [[_mark(server, worker) for worker in range(workers)] for server in servers]
            self._read = [_value(mark) for mark in marks[0]]
            self._write = [
                tf.group(*(mark.assign(self._given) for mark in same))
                for same in zip(*marks, strict=True)
            ]

    @contextlib.contextmanager
    def open(self) -> Iterator["Marks"]:
        """Yield the marks, for use in one session.

        A new session would wait forever for a server that has ended.
        """
        with tf.Session(self._target, graph=self._graph, config=self._config) as session:
            yield Marks(session, self._read, self._write, self._given)


class Marks:
    """Access to the status marks while a session is open."""

    def __init__(self, session: Any, read: list[Any], write: list[Any], given: Any) -> None:
        self._session = session
        self._read = read
        self._write = write
        self._given = given

    def write(self, worker: int, mark: int) -> None:
        self._session.run(self._write[worker], {self._given: mark})

    def at(self, least: int) -> set[int]:
        """Return the workers with at least this mark, read from the first of the servers."""
        marks = self._session.run(self._read)
        return {worker for worker, mark in enumerate(marks) if mark >= least}


def _mark(server: int, worker: int) -> Any:
    with tf.device(f"/job:ps/task:{server}/device:CPU:0"):
        return tf.get_variable(
            f"mox_attendance/{server}/{worker}",
            initializer=tf.constant(0),
            collections=[],
            use_resource=True,
        )


def _value(mark: Any) -> Any:
    with tf.device(mark.device):
        return tf.cond(mark.is_initialized(), mark.read_value, lambda: tf.constant(0))


_CHECK_INTERVAL = 5.0
_STALL_TIMEOUT = 15.0
_LOG_INTERVAL = 60.0


class StallReportHook(tf.train.SessionRunHook):
    """A hook that logs the processes that do not answer while a step takes long.

    It checks them in its own thread.
    """

    def __init__(self, others: Sequence[Peer]) -> None:
        self._others = others
        self._since: float | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._check, name="mox-watch", daemon=True)
            self._thread.start()

    def before_run(self, run_context: Any) -> None:
        self._since = time.monotonic()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._since = None

    def end(self, session: Any) -> None:
        self._over.set()

    def _check(self) -> None:
        silent_until = 0.0
        while not self._over.wait(_CHECK_INTERVAL):
            since, now = self._since, time.monotonic()
            if since is None or now - since < _STALL_TIMEOUT or now < silent_until:
                continue
            gone = [str(peer) for peer in self._others if not answers(peer)]
            if gone:
                silent_until = now + _LOG_INTERVAL
                tf.logging.warning(
                    "A step waits, for %.0f s now: %s does not answer.",
                    *(now - since, ", ".join(gone)),
                )


def wait_until(mark: int, workers: Sequence[Peer], marks: Marks) -> None:
    """Wait until workers reach a mark; a worker that does not answer is not waited for."""
    wait = Wait()
    while True:
        there = marks.at(mark)
        left = [peer for peer in workers if peer.index not in there and answers(peer)]
        if not left:
            return
        wait.more(f"{', '.join(map(str, left))} to end")
