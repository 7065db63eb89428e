"""Who of the workers has ended: kept on every parameter server, which ends when all have."""

import contextlib
from typing import Any

import tensorflow.compat.v1 as tf

_HERE, _ENDED = 1, 2  # 0: not seen yet


class Attendance:
    """The marks of one run, in a graph of their own: they outlive every session of training."""

    def __init__(self, target: str, config: tf.ConfigProto, run: str, servers: int, workers: int):
        self._target = target
        self._config = config
        self._graph = tf.Graph()
        self._marks: list[list[Any]] = []
        with self._graph.as_default(), self._graph.container(run):
            self._given = tf.placeholder(tf.int32, [], "given")
            self._marks = [
                [_mark(server, worker) for worker in range(workers)] for server in range(servers)
            ]
            self._read = [[_value(mark) for mark in marks] for marks in self._marks]
            self._write = [
                tf.group(*(marks[worker].assign(self._given) for marks in self._marks))
                for worker in range(workers)
            ]

    def joins(self, worker: int) -> None:
        self._run(self._write[worker], {self._given: _HERE})

    def leaves(self, worker: int) -> None:
        """Say that a worker has ended as it should. The servers may be gone right after it."""
        with contextlib.suppress(tf.errors.UnavailableError, tf.errors.AbortedError):
            self._run(self._write[worker], {self._given: _ENDED})

    def ended(self, server: int = 0) -> set[int]:
        """Return the workers that have ended, as one of the servers knows it."""
        return ended(self._run(self._read[server]))

    def on(self, server: int) -> tuple[Any, Any]:
        """Return a session for asking a server often, and what to run on it."""
        return self._session(), self._read[server]

    def _run(self, fetches: Any, feeds: Any = None) -> Any:
        with self._session() as session:
            return session.run(fetches, feeds)

    def _session(self) -> tf.Session:
        return tf.Session(self._target, graph=self._graph, config=self._config)


def ended(marks: list[int]) -> set[int]:
    return {worker for worker, mark in enumerate(marks) if mark == _ENDED}


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
