"""Sessions of workers: the chief initializes the variables, the others wait for it.

TensorFlow's own workers check every 30 s whether the chief is ready. They start as soon as every
variable has a value, although the chief may still be reading a checkpoint.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.hosts import Peer, Wait, wait_for

_LOST = (tf.errors.AbortedError, tf.errors.UnavailableError)


class Gate:
    """A flag on the first server that is open while the variables have their values."""

    def __init__(self) -> None:
        with tf.device("/job:ps/task:0/device:CPU:0"):
            kept = tf.get_variable(
                "mox_gate",
                initializer=tf.constant(False),
                trainable=False,
                collections=[],
                use_resource=True,
            )
            self._open = kept.assign(True, read_value=False)
            self._close = kept.assign(False, read_value=False)
            self._is_open = tf.cond(kept.is_initialized(), kept.read_value, lambda: False)

    def open(self, session: Any) -> None:
        session.run(self._open)

    def close(self, session: Any) -> None:
        session.run(self._close)

    def is_open(self, session: Any) -> bool:
        return bool(session.run(self._is_open))


class _Creator(tf.train.SessionCreator):
    def __init__(
        self,
        target: str,
        config: tf.ConfigProto,
        scaffold: Any,
        needed: Sequence[Peer],
        new_wait: Callable[[], Wait],
    ) -> None:
        self._target = target
        self._config = config
        self._scaffold = scaffold
        self._needed = needed
        self._new_wait = new_wait
        self._graph = tf.get_default_graph()
        self._gate = Gate()

    def create_session(self) -> tf.Session:
        self._scaffold.finalize()
        wait = self._new_wait()
        while True:
            wait_for(self._needed, wait)
            session = tf.Session(self._target, graph=self._graph, config=self._config)
            try:
                self._prepare(session, wait)
            except _LOST:
                session.close()
                wait.more("the parameter servers")
            else:
                return session

    def _prepare(self, session: Any, wait: Wait) -> None:
        raise NotImplementedError

    def _finish(self, session: Any) -> None:
        """Initialize the local variables of this worker.

        Raises:
            RuntimeError: a variable still has no value.
        """
        if self._scaffold.local_init_op is not None:
            session.run(self._scaffold.local_init_op, self._scaffold.local_init_feed_dict)
        missing = _names(session, self._scaffold.ready_op)
        if missing:
            raise RuntimeError(f"Variables have no values: {', '.join(missing)}.")


class ChiefCreator(_Creator):
    """The session creator of the chief, which initializes the variables.

    ``checkpoint_dir`` has the values to restore when a lost session is created again.
    """

    def __init__(self, *args: Any, checkpoint_dir: str | None = None) -> None:
        super().__init__(*args)
        self._checkpoint_dir = checkpoint_dir
        self._again = False

    def _prepare(self, session: Any, wait: Wait) -> None:
        self._gate.close(session)
        if not self._restored(session):
            scaffold = self._scaffold
            if scaffold.init_op is not None:
                session.run(scaffold.init_op, scaffold.init_feed_dict)
            if scaffold.init_fn is not None:
                scaffold.init_fn(session)
        self._finish(session)
        self._gate.open(session)
        self._again = True

    def _restored(self, session: Any) -> bool:
        if not self._again:
            return False
        found = tf.train.latest_checkpoint(self._checkpoint_dir) if self._checkpoint_dir else None
        if found is None or self._scaffold.saver is None:
            tf.logging.warning("The parameter servers were lost: the training begins anew.")
            return False
        tf.logging.warning("The parameter servers were lost: going on from %s.", found)
        self._scaffold.saver.restore(session, found)
        return True


class WorkerCreator(_Creator):
    """The session creator of other workers, which waits for the chief."""

    def _prepare(self, session: Any, wait: Wait) -> None:
        while missing := self._missing(session):
            wait.more(f"worker 0, the chief, to prepare {missing}")
        self._finish(session)

    def _missing(self, session: Any) -> str:
        if not self._gate.is_open(session):
            return "the variables"
        names = _names(session, self._scaffold.ready_for_local_init_op)
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _names(session: Any, operation: Any) -> list[str]:
    if operation is None:
        return []
    return [name.decode() for name in session.run(operation)]
