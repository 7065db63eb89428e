"""Synchronous training: one step is one update with the mean of every worker's gradients.

Each worker adds its gradients to accumulators beside the variables and waits. The chief waits for
all of them, applies the mean within its own step, and lets them go on. Nothing runs beside the
steps, so nothing is left waiting at the end: ``tf.train.SyncReplicasOptimizer`` has a thread that
waits for gradients nobody sends any more, and its chief waits two minutes for that thread.
Unlike there, every worker contributes exactly once to an update.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.rounds import Rounds
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs

Clear = Callable[[Any, int], None]

_SUMMED = (tf.float16, tf.float32, tf.float64)  # what accumulators can add up


class Accumulated:
    """The gradients of one variable, from all workers."""

    def __init__(self, gradient: Any, variable: Any, name: str) -> None:
        self._type = gradient.dtype.base_dtype
        self._sparse = isinstance(gradient, tf.IndexedSlices)
        self._gradient = gradient
        self._device = variable.device
        kept = self._type if self._type in _SUMMED else tf.float32
        with tf.device(self._device):
            if self._sparse:
                # Summed: its mean would divide each row by how many workers have seen it.
                self._kept = tf.SparseConditionalAccumulator(
                    kept, shape=variable.shape, shared_name=name, reduction_type="SUM"
                )
            else:
                self._kept = tf.ConditionalAccumulator(
                    kept, shape=variable.shape, shared_name=name, reduction_type="MEAN"
                )
            self._count = self._kept.num_accumulated()
            self._empty = (
                self._kept.take_indexed_slices_grad(1) if self._sparse else self._kept.take_grad(1)
            )

    def add(self, number: Any) -> Any:
        """Return the operation that contributes to a round; to an earlier one nothing is added."""
        with tf.device(self._device):
            if self._sparse:
                values = tf.cast(self._gradient.values, self._kept.dtype)
                return self._kept.apply_grad(
                    tf.cast(self._gradient.indices, tf.int64), values, local_step=number
                )
            return self._kept.apply_grad(
                tf.cast(self._gradient, self._kept.dtype), local_step=number
            )

    def take(self, workers: int) -> Any:
        """Return the mean; all have contributed, so nothing waits."""
        with tf.device(self._device):
            if not self._sparse:
                return tf.cast(self._kept.take_grad(1), self._type)
            found = self._kept.take_indexed_slices_grad(1)
            values = found.values / tf.cast(workers, found.values.dtype)
            return tf.IndexedSlices(
                tf.cast(values, self._type),
                tf.cast(found.indices, self._gradient.indices.dtype),
                self._gradient.dense_shape,
            )

    def at(self, number: Any) -> Any:
        """Return the operation that begins with a round: what is older comes too late."""
        with tf.device(self._device):
            return self._kept.set_global_step(number)

    def forget(self, session: Any) -> None:
        if session.run(self._count):
            session.run(self._empty)


class SynchronousOptimizer(OptimizerWrapper):
    """Applies what all workers have computed, by the optimizer inside, on the chief.

    ``number`` tells the optimizers of one run apart.
    """

    def __init__(self, optimizer: Any, me: int, workers: int, number: int = 0) -> None:
        super().__init__(optimizer, "mox_synchronous")
        self._me = me
        self._workers = workers
        self._number = number
        self.rounds: Rounds | None = None
        self.clear: Clear = lambda session, number: None

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        prefix = f"{self._name}_{self._number}"
        # Waiting for nothing: the hook uses them before there is a step.
        with tf.control_dependencies(None):
            rounds = self.rounds = Rounds(prefix, self._me, self._workers)
            kept = [
                Accumulated(gradient, variable, f"{prefix}/{index}")
                for index, (gradient, variable) in enumerate(pairs)
            ]
            self.clear = clearing(kept)
        number = rounds.number
        with tf.control_dependencies([each.add(number) for each in kept]):
            done = rounds.everybody() if self._me == 0 else rounds.contributed()
        # The update is built in every worker and run by the chief: the graphs of all have the
        # same variables, in the same order, and so at the same places.
        with tf.control_dependencies([done]):
            means = [each.take(self._workers) for each in kept]
            update = self._optimizer.apply_gradients(
                [(mean, variable) for mean, (_, variable) in zip(means, pairs, strict=True)],
                global_step=global_step,
                name=name,
            )
        if self._me:
            return done
        with tf.control_dependencies([update]):
            return tf.group(rounds.begin_next())


class Joining(Protocol):
    """Something that works in rounds; none before its graph is built."""

    rounds: Rounds | None
    clear: Clear


class SynchronousHook(tf.train.SessionRunHook):
    """Takes up the worker's part when a session is there, and ends the run for all."""

    def __init__(self, joining: Joining) -> None:
        self._joining = joining

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._joining.rounds is not None:
            self._joining.rounds.begin(session, self._joining.clear)

    def end(self, session: Any) -> None:
        if self._joining.rounds is not None:
            self._joining.rounds.leave(session)


class ChiefCounts(OptimizerWrapper):
    """Applies gradients without counting the step: ``--chief_inc_global_step``, not the chief."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer, "mox_uncounted")

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        return self._optimizer.apply_gradients(pairs, global_step=None, name=name)


def clearing(kept: Sequence[Accumulated]) -> Clear:
    """Return a function that lets a round begin with nothing contributed."""
    given = tf.placeholder(tf.int64, [], "mox_synchronous_round")
    begins = [each.at(given) for each in kept]

    def clear(session: Any, number: int) -> None:
        session.run(begins, {given: number})  # from here on nothing old is added
        for each in kept:
            each.forget(session)
        session.run(begins, {given: number})  # taking has counted one further

    return clear
