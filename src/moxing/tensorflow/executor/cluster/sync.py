"""Synchronous training: one step is one update with the mean of every worker's gradients.

Each worker adds its gradients to accumulators beside the variables and waits. The chief waits for
all of them, applies the mean within its own step, and releases them. Nothing runs beside the steps,
so nothing is left waiting at the end. ``tf.train.SyncReplicasOptimizer`` has a thread that at the
end waits for gradients that no worker sends, and its chief waits two minutes for that thread.
Unlike there, every worker contributes exactly once to an update.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs

LEFT, JOINED = -1, -2
_SERVER = "/job:ps/task:0/device:CPU:0"


class Rounds:
    """The rounds of synchronous training, for worker ``me`` of ``workers``.

    Create it while the graph is built. ``name`` is the same in all workers.
    """

    def __init__(self, name: str, me: int, workers: int) -> None:
        self.name = name
        self._chief = me == 0
        self._me = me
        others = range(1, workers)
        with tf.name_scope(name), tf.device(_SERVER):
            self._marks = {each: _queue(f"{name}/marks_{each}") for each in others}
            self._tokens = {each: _queue(f"{name}/tokens_{each}") for each in others}
            self._never = _queue(f"{name}/never")  # closed: a dequeue ends the run
            self._close_never = self._never.close()
            self._never_closed = self._never.is_closed()
            # Stored beside the queues: the reads and writes of every step cross no network.
            self._number = tf.get_variable(
                f"{name}/number_{me}",
                initializer=tf.constant(0, tf.int64),
                trainable=False,
                collections=[],
                use_resource=True,
            )
            self._set = tf.placeholder(tf.int64, [], f"{name}/given")
            self._assign = self._number.assign(self._set, read_value=False)
            self._known = self._number.is_initialized()
        if self._chief:
            self._build_chief()
        else:
            self._build_worker()

    @property
    def number(self) -> Any:
        """The round this worker contributes to, as a tensor."""
        with tf.device(_SERVER):
            return self._number.read_value()

    def all_contributed(self) -> Any:
        """Return an operation of the chief that ends when all others have contributed."""
        with tf.device(_SERVER):
            number = self._number.read_value()
            marks = [self._mark_of(each, number) for each in self._marks]
            return self._unless(tf.reduce_any(tf.equal(tf.stack(marks), LEFT)))

    def begin_next(self) -> Any:
        """Return an operation of the chief that lets the others contribute to the next round."""
        with tf.device(_SERVER):
            number = self._number.assign_add(1, read_value=True)
            return tf.group(*(queue.enqueue(number) for queue in self._tokens.values()))

    def contributed(self) -> Any:
        """Return an operation of a worker that reports its part and waits for the next round."""
        with tf.device(_SERVER):
            number = self._number.read_value()
            with tf.control_dependencies([self._marks[self._me].enqueue(number)]):
                token = self._token_after(number)
            with tf.control_dependencies([self._unless(tf.equal(token, LEFT))]):
                return self._number.assign(token, read_value=False)

    def begin(self, session: Any, clear: Any) -> None:
        """Join the rounds in a new session, as the chief or as a worker.

        The chief calls ``clear``, which discards all contributions before a round.
        """
        if not session.run(self._never_closed):
            _run_unless_done(session, self._close_never)
        if not self._chief:
            session.run(self._assign, {self._set: JOINED})
            session.run(self._join)
            token = session.run(self._take)
            if token == LEFT:  # the first step reads it again and ends the run
                session.run(self._put_back)
            session.run(self._assign, {self._set: token})
            return
        # Plus two: an interrupted update may have given out the next number.
        number = int(session.run(self._number)) + 2 if session.run(self._known) else 0
        session.run(self._assign, {self._set: number})
        clear(session, number)
        session.run(self._drain)
        session.run(self._invite, {self._set: number})

    def leave(self, session: Any) -> None:
        """End the run for the others too, because they cannot continue without this worker."""
        session.run(self._leave)

    def _build_chief(self) -> None:
        with tf.device(_SERVER):
            queues = [*self._marks.values(), *self._tokens.values()]
            self._drain = [queue.dequeue_many(queue.size()) for queue in queues]
            self._invite = [queue.enqueue(self._set) for queue in self._tokens.values()]
            self._leave = [queue.enqueue(LEFT) for queue in self._tokens.values()]

    def _build_worker(self) -> None:
        with tf.device(_SERVER):
            self._join = self._marks[self._me].enqueue(JOINED)
            self._leave = self._marks[self._me].enqueue(LEFT)
            self._take = self._tokens[self._me].dequeue()
            self._put_back = self._tokens[self._me].enqueue(LEFT)

    def _mark_of(self, worker: int, number: Any) -> Any:
        """Wait for a worker's mark of this round; older marks are from before its restart."""

        def welcome() -> Any:
            with tf.control_dependencies([self._tokens[worker].enqueue(number)]):
                return self._marks[worker].dequeue()

        def again(mark: Any) -> Any:
            return tf.cond(tf.equal(mark, JOINED), welcome, self._marks[worker].dequeue)

        def is_of_another(mark: Any) -> Any:
            return tf.logical_and(tf.not_equal(mark, number), tf.not_equal(mark, LEFT))

        first = self._marks[worker].dequeue()
        return tf.while_loop(is_of_another, again, [first], parallel_iterations=1)

    def _token_after(self, number: Any) -> Any:
        """Wait for a token of a later round; a worker that joined may receive one twice."""
        queue = self._tokens[self._me]

        def is_old(token: Any) -> Any:
            return tf.logical_and(tf.less_equal(token, number), tf.not_equal(token, LEFT))

        def again(_: Any) -> Any:
            return queue.dequeue()

        return tf.while_loop(is_old, again, [queue.dequeue()], parallel_iterations=1)

    def _unless(self, over: Any) -> Any:
        """Return an operation that ends the run if ``over``, as the end of the data does."""
        return tf.cond(over, self._never.dequeue, lambda: tf.constant(0, tf.int64))


def _queue(name: str) -> Any:
    return tf.FIFOQueue(-1, [tf.int64], [[]], shared_name=name, name=name.replace("/", "_"))


def _run_unless_done(session: Any, close: Any) -> None:
    with contextlib.suppress(tf.errors.CancelledError):  # another worker was quicker
        session.run(close)


Clear = Callable[[Any, int], None]

_SUMMED = (tf.float16, tf.float32, tf.float64)  # the types that accumulators support


class Accumulated:
    """The accumulator for the gradients of one variable, from all workers."""

    def __init__(self, gradient: Any, variable: Any, name: str) -> None:
        self._type = gradient.dtype.base_dtype
        self._sparse = isinstance(gradient, tf.IndexedSlices)
        self._gradient = gradient
        self._device = variable.device
        kept = self._type if self._type in _SUMMED else tf.float32
        with tf.device(self._device):
            if self._sparse:
                # Summed: MEAN would divide each row by the number of workers that have it.
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
        """Return the operation that contributes to a round; an earlier round is ignored."""
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
        """Return the mean. It does not wait, because all workers have contributed."""
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
        """Return the operation that starts a round; gradients of earlier rounds are dropped."""
        with tf.device(self._device):
            return self._kept.set_global_step(number)

    def forget(self, session: Any) -> None:
        if session.run(self._count):
            session.run(self._empty)


class SynchronousOptimizer(OptimizerWrapper):
    """A wrapper that applies the gradients of all workers with the inner optimizer, on the chief.

    ``number`` distinguishes the optimizers of one run.
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
        # Without dependencies: the hook uses them before the first step.
        with tf.control_dependencies(None):
            rounds = self.rounds = Rounds(prefix, self._me, self._workers)
            kept = [
                Accumulated(gradient, variable, f"{prefix}/{index}")
                for index, (gradient, variable) in enumerate(pairs)
            ]
            self.clear = clearing(kept)
        number = rounds.number
        with tf.control_dependencies([each.add(number) for each in kept]):
            done = rounds.all_contributed() if self._me == 0 else rounds.contributed()
        # Every worker builds the update and the chief runs it. All graphs then have the same
        # variables in the same order, and the same placement.
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
    """An object that works in rounds; ``rounds`` is None until its graph is built."""

    @property
    def rounds(self) -> Rounds | None: ...

    clear: Clear


class SynchronousHook(tf.train.SessionRunHook):
    """A hook that joins the rounds in a new session, and at the end ends the run for all."""

    def __init__(self, joining: Joining) -> None:
        self._joining = joining

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._joining.rounds is not None:
            self._joining.rounds.begin(session, self._joining.clear)

    def end(self, session: Any) -> None:
        if self._joining.rounds is not None:
            self._joining.rounds.leave(session)


class ChiefCounts(OptimizerWrapper):
    """A wrapper that applies gradients without counting the step.

    It is for workers other than the chief, with ``--chief_inc_global_step``.
    """

    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer, "mox_uncounted")

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        return self._optimizer.apply_gradients(pairs, global_step=None, name=name)


def clearing(kept: Sequence[Accumulated]) -> Clear:
    """Return a function that starts a round without contributions."""
    given = tf.placeholder(tf.int64, [], "mox_synchronous_round")
    begins = [each.at(given) for each in kept]

    def clear(session: Any, number: int) -> None:
        session.run(begins, {given: number})  # from now on old gradients are dropped
        for each in kept:
            each.forget(session)
        session.run(begins, {given: number})  # taking has advanced the count by one

    return clear
