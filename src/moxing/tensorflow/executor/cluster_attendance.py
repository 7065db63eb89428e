"""Who of the workers has ended: kept on every parameter server, which ends when all have."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

_HERE, _ENDED = 1, 2  # 0: not seen yet


class Attendance:
    """The marks of one run, in a graph of their own: they outlive every session of training.

    ``servers``: on which parameter servers; one of them asks for no other.
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

    def joins(self, worker: int) -> None:
        self._run(self._write[worker], {self._given: _HERE})

    def leaves(self, worker: int) -> None:
        """Say that a worker has ended as it should. The servers may be gone right after it."""
        with contextlib.suppress(tf.errors.UnavailableError, tf.errors.AbortedError):
            self._run(self._write[worker], {self._given: _ENDED})

    def ended(self) -> set[int]:
        """Return the workers that have ended, as the first of the servers knows it."""
        return self._ended(self._run(self._read))

    def changes(self) -> Iterator[set[int]]:
        """Yield the workers that have ended, over and over."""
        with self._session() as session:
            while True:
                yield self._ended(session.run(self._read))

    def _ended(self, marks: list[int]) -> set[int]:
        return {worker for worker, mark in enumerate(marks) if mark == _ENDED}

    def _run(self, fetches: Any, feeds: Any = None) -> Any:
        with self._session() as session:
            return session.run(fetches, feeds)

    def _session(self) -> tf.Session:
        return tf.Session(self._target, graph=self._graph, config=self._config)


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
