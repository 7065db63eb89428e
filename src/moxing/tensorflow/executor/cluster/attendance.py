"""How far each worker is: kept on every parameter server, which ends when all are gone."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

HERE, FINISHED, GONE = 1, 2, 3  # 0: not seen yet; finished: it has done its last step


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

    @contextlib.contextmanager
    def open(self) -> Iterator["Marks"]:
        """Give the marks, by one session: a new one would wait for ever for a server that ended."""
        with tf.Session(self._target, graph=self._graph, config=self._config) as session:
            yield Marks(session, self._read, self._write, self._given)


class Marks:
    """The marks as long as a session is open."""

    def __init__(self, session: Any, read: list[Any], write: list[Any], given: Any) -> None:
        self._session = session
        self._read = read
        self._write = write
        self._given = given

    def write(self, worker: int, mark: int) -> None:
        self._session.run(self._write[worker], {self._given: mark})

    def at(self, least: int) -> set[int]:
        """Return the workers that are as far, as the first of the servers knows it."""
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
