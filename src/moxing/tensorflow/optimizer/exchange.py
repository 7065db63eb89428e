"""Workers that wait for each other: one mean of their gradients, applied once.

Every worker lays its gradients into accumulators beside the variables and says that it is there.
The chief, worker 0, waits until all are, applies the mean and lets the others go on. A worker that
has ended says so and is waited for no more; when the chief ends, the others do.
"""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import Pairs

_SERVER = "/job:ps/task:0"
_NEWEST = tf.int64.max  # no gradient is too old: nobody is a round behind


class Exchange:
    """``name`` is the same in every worker: it is how they find each other."""

    def __init__(self, workers: Workers, name: str) -> None:
        self._workers = workers
        self._name = name
        self._leave: tf.Operation | None = None

    def apply(self, pairs: Pairs, apply: Callable[[Pairs], tf.Operation]) -> tf.Operation:
        """Return the operation that applies the mean over all workers."""
        # Made outside of tf.cond, whichever branch asks for them.
        with tf.init_scope():
            tables = [self._table(*pair) for pair in pairs]
            arrivals, turns = self._queue("arrivals"), self._turns()
            self._leave = self._leaving(arrivals, turns)
            gone = self._gone()
        laid = [_lay(table, gradient) for table, (gradient, _) in zip(tables, pairs, strict=True)]
        with tf.control_dependencies(laid):
            arrived = arrivals.enqueue(self._workers.index)
        if self._workers.index != 0:
            with tf.control_dependencies([arrived]):
                return turns[self._workers.index].dequeue().op
        with tf.control_dependencies([arrived]):
            present = self._await(arrivals, gone)
        with tf.control_dependencies([present]):
            means = [_mean(table, present) for table in tables]
        applied = apply([(mean, pair[1]) for mean, pair in zip(means, pairs, strict=True)])
        with tf.control_dependencies([applied]):
            return tf.group(*(turns[index].enqueue(0) for index in turns))

    def hooks(self) -> list[tf.train.SessionRunHook]:
        return [] if self._leave is None else [_Leaving(self._leave)]

    def _queue(self, name: str) -> tf.FIFOQueue:
        with tf.device(_SERVER):
            shared = f"mox/{self._name}/{name}"
            return tf.FIFOQueue(-1, tf.int32, shapes=[[]], shared_name=shared)

    def _turns(self) -> dict[int, tf.FIFOQueue]:
        """Return a queue for each worker but the chief: one for all could serve one twice."""
        return {index: self._queue(f"turn_{index}") for index in range(1, self._workers.count)}

    def _leaving(self, arrivals: tf.FIFOQueue, turns: dict[int, tf.FIFOQueue]) -> tf.Operation:
        if self._workers.index == 0:
            return tf.group(*(turn.close() for turn in turns.values()))
        return arrivals.enqueue(-self._workers.index)

    def _gone(self) -> tf.Variable:
        with tf.device(f"/job:worker/task:{self._workers.index}"):
            return tf.Variable(
                lambda: tf.zeros([self._workers.count], tf.bool),
                name=f"{self._name}/gone",
                trainable=False,
                use_resource=True,
                collections=[tf.GraphKeys.LOCAL_VARIABLES],
            )

    def _table(self, gradient: Any, variable: Any) -> Any:
        is_sparse = isinstance(gradient, tf.IndexedSlices)
        kind = tf.SparseConditionalAccumulator if is_sparse else tf.ConditionalAccumulator
        with tf.device(variable.device or _SERVER):
            return kind(
                variable.dtype.base_dtype,
                shape=variable.shape,
                shared_name=f"mox/{self._name}/{variable.op.name}",
            )

    def _await(self, arrivals: tf.FIFOQueue, gone: tf.Variable) -> tf.Tensor:
        """Return how many are there, once nobody is missing."""
        count = self._workers.count

        def missing(there: tf.Tensor, away: tf.Tensor) -> tf.Tensor:
            return tf.logical_not(tf.reduce_all(tf.logical_or(there, away)))

        def next_one(there: tf.Tensor, away: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            said = arrivals.dequeue()
            who = tf.one_hot(tf.abs(said), count, on_value=True, off_value=False, dtype=tf.bool)
            others = tf.logical_not(who)
            if_left = tf.logical_and(there, others), tf.logical_or(away, who)
            if_there = tf.logical_or(there, who), tf.logical_and(away, others)
            left = tf.fill([count], said < 0)
            return tf.where(left, if_left[0], if_there[0]), tf.where(left, if_left[1], if_there[1])

        nobody = tf.zeros([count], tf.bool)
        there, away = tf.while_loop(
            missing, next_one, (nobody, gone.read_value()), parallel_iterations=1
        )
        with tf.control_dependencies([gone.assign(away).op]):
            return tf.reduce_sum(tf.cast(there, tf.int32))


class _Leaving(tf.train.SessionRunHook):
    """Says that this worker is done, so that nobody waits for it."""

    def __init__(self, leave: tf.Operation) -> None:
        self._leave = leave

    def end(self, session: tf.Session) -> None:
        session.run(self._leave)


def _lay(table: Any, gradient: Any) -> tf.Operation:
    if isinstance(gradient, tf.IndexedSlices):
        indices = tf.cast(gradient.indices, tf.int64)
        slices = tf.IndexedSlices(gradient.values, indices, gradient.dense_shape)
        return table.apply_indexed_slices_grad(slices, local_step=_NEWEST)
    return table.apply_grad(gradient, local_step=_NEWEST)


def _mean(table: Any, count: tf.Tensor) -> Any:
    if isinstance(table, tf.SparseConditionalAccumulator):
        return table.take_indexed_slices_grad(count)
    return table.take_grad(count)
