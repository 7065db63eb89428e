"""How workers take turns: each contributes once to a round, and waits for the next.

Every worker but the chief has two queues on the first parameter server. In ``marks`` it says that
it has contributed to a round, in ``tokens`` it is given the number of the next. A worker that
(re)joins says so and is given the number of the round the chief is waiting in. Numbers grow over
restarts of the chief, so that what is left of an earlier life is known by its number.
"""

import contextlib
from typing import Any

import tensorflow.compat.v1 as tf

LEFT, JOINED = -1, -2
_SERVER = "/job:ps/task:0/device:CPU:0"


class Rounds:
    """``me`` among ``workers``. Made while the graph is built; ``name`` is the same in all."""

    def __init__(self, name: str, me: int, workers: int) -> None:
        self.name = name
        self._chief = me == 0
        self._me = me
        others = range(1, workers)
        with tf.name_scope(name), tf.device(_SERVER):
            self._marks = {each: _queue(f"{name}/marks_{each}") for each in others}
            self._tokens = {each: _queue(f"{name}/tokens_{each}") for each in others}
            self._never = _queue(f"{name}/never")  # closed: to take from it ends a run
            self._close_never = self._never.close()
            self._never_closed = self._never.is_closed()
            # Beside the queues: what is read and written in every step crosses no network.
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

    def everybody(self) -> Any:
        """For the chief: return an operation that ends when all others have contributed."""
        with tf.device(_SERVER):
            number = self._number.read_value()
            marks = [self._mark_of(each, number) for each in self._marks]
            return self._unless(tf.reduce_any(tf.equal(tf.stack(marks), LEFT)))

    def begin_next(self) -> Any:
        """For the chief: return an operation that lets the others contribute to the next round."""
        with tf.device(_SERVER):
            number = self._number.assign_add(1, read_value=True)
            return tf.group(*(queue.enqueue(number) for queue in self._tokens.values()))

    def contributed(self) -> Any:
        """For a worker: return an operation that says so and ends with the next round's begin."""
        with tf.device(_SERVER):
            number = self._number.read_value()
            with tf.control_dependencies([self._marks[self._me].enqueue(number)]):
                token = self._token_after(number)
            with tf.control_dependencies([self._unless(tf.equal(token, LEFT))]):
                return self._number.assign(token, read_value=False)

    def begin(self, session: Any, clear: Any) -> None:
        """Take up the chief's or a worker's part in a new session.

        ``clear``: a function that forgets all contributions before a round; the chief's.
        """
        if not session.run(self._never_closed):
            _run_unless_done(session, self._close_never)
        if not self._chief:
            session.run(self._assign, {self._set: JOINED})
            session.run(self._join)
            token = session.run(self._take)
            if token == LEFT:  # the first step finds it again, and ends the run as it should
                session.run(self._put_back)
            session.run(self._assign, {self._set: token})
            return
        # Two more: an update that was cut off may have given out the next number.
        number = int(session.run(self._number)) + 2 if session.run(self._known) else 0
        session.run(self._assign, {self._set: number})
        clear(session, number)
        session.run(self._drain)
        session.run(self._invite, {self._set: number})

    def leave(self, session: Any) -> None:
        """End the run for the others too: nobody can go on without this worker."""
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
        """Wait for a worker's mark of this round; older ones are of an earlier life."""

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
        """Wait for a token of a later round: a worker that joined may be given one twice."""
        queue = self._tokens[self._me]

        def is_old(token: Any) -> Any:
            return tf.logical_and(tf.less_equal(token, number), tf.not_equal(token, LEFT))

        def again(_: Any) -> Any:
            return queue.dequeue()

        return tf.while_loop(is_old, again, [queue.dequeue()], parallel_iterations=1)

    def _unless(self, over: Any) -> Any:
        """Return an operation that ends the run where ``over``: as the end of data does."""
        return tf.cond(over, self._never.dequeue, lambda: tf.constant(0, tf.int64))


def _queue(name: str) -> Any:
    return tf.FIFOQueue(-1, [tf.int64], [[]], shared_name=name, name=name.replace("/", "_"))


def _run_unless_done(session: Any, close: Any) -> None:
    with contextlib.suppress(tf.errors.CancelledError):  # another worker was quicker
        session.run(close)
