"""Wrappers in a cluster: a parameter server and two workers, each with a graph of its own."""

import socket
import threading

import numpy as np
import pytest

START = np.array([[1.0, -2.0], [3.0, 0.5], [-1.5, 2.5]], np.float32)
RATE = 0.1


class Worker:
    """A worker whose gradients are given to it, of all rows or of some."""

    def __init__(self, tf, target, index, make, rows=None):
        self.tf = tf
        self.index = index
        self.graph = tf.Graph()
        with self.graph.as_default():
            place = tf.train.replica_device_setter(1, worker_device=f"/job:worker/task:{index}")
            with tf.device(place):
                self._build(tf, make(), rows)
        self.session = self._open(tf, target)

    def _build(self, tf, optimizer, rows):
        from moxing.tensorflow.optimizer.wrapping import hooks_of

        self.step = tf.train.get_or_create_global_step()
        self.w = tf.get_variable("w", initializer=START, use_resource=True)
        self.given = tf.placeholder(tf.float32, [3, 2])
        read = tf.identity(self.w) if rows is None else tf.nn.embedding_lookup(self.w, rows)
        pairs = optimizer.compute_gradients(tf.reduce_sum(read * self.given))
        self.train = optimizer.apply_gradients(pairs, self.step)
        with tf.control_dependencies([self.train]):
            self.done = tf.identity(self.step.read_value())
        self.now = self.w.read_value()
        self.read = read
        self.hooks = hooks_of(optimizer)

    def _open(self, tf, target):
        kind = tf.train.ChiefSessionCreator if self.index == 0 else tf.train.WorkerSessionCreator
        with self.graph.as_default():
            return tf.train.MonitoredSession(kind(master=target), hooks=self.hooks)

    def __call__(self, gradient):
        self.session.run(self.done, {self.given: gradient})

    def value(self):
        """Return the variable of the servers."""
        return self.session.run(self.now)


@pytest.fixture
def workers(tf, two_workers):
    """Return both workers of a new cluster; the chief is the first."""

    def begin(make, rows=None):
        ps, *hosts = free_addresses(3)
        everyone = tf.train.ClusterSpec({"ps": [ps], "worker": hosts})
        servers.append(tf.train.Server(everyone, "ps", 0))
        servers.extend(tf.train.Server(everyone, "worker", index) for index in (0, 1))
        opened = []
        for index in (0, 1):
            two_workers(index)
            opened.append(Worker(tf, servers[1 + index].target, index, make, rows))
        return opened

    servers = []
    return begin


def free_addresses(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    return found


def wrap(*args, **kwargs):
    from moxing.tensorflow.optimizer import get_optimizer_wrapper_fn

    return get_optimizer_wrapper_fn(*args, **kwargs)()


def at_once(*calls):
    """Call each in a thread of its own, and wait for all."""
    faults = []

    def guarded(call):
        try:
            call()
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=guarded, args=[call], daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if faults:
        raise faults[0]


@pytest.mark.parametrize("rows", [None, [0, 2, 0]], ids=["dense", "sparse"])
def test_elastic_workers_follow_the_formula(tf, workers, gradients, dense, rows):
    """Each trains its own variable; every second step it and the centre move together."""
    both = workers(
        lambda: wrap("easgd", tf.train.MomentumOptimizer(RATE, 0.9), communication_period=2), rows
    )
    centre, own, speed = START.copy(), [START.copy(), START.copy()], [0.0, 0.0]

    for number, gradient in enumerate(gradients):
        for index in (0, 1):
            given = gradient * (1 + index)
            both[index](given)
            # Rows that are not in a sparse gradient keep their momentum and stay.
            touched = 1.0 if rows is None else np.isin(np.arange(3), rows)[:, None]
            speed[index] = np.where(touched, 0.9 * speed[index] + dense(given, rows), speed[index])
            own[index] = own[index] - RATE * speed[index] * touched
            if number % 2:
                apart = 0.45 * (own[index] - centre)  # 0.9 / 2 workers
                own[index], centre = own[index] - apart, centre + apart
            np.testing.assert_allclose(both[index].value(), centre, rtol=1e-5)

    for index in (0, 1):
        table = own[index] if rows is None else own[index][rows]
        read = both[index].session.run(both[index].read)
        np.testing.assert_allclose(read, table, rtol=1e-5)
    assert both[0].session.run(both[0].step) == 16


def test_the_centre_is_what_is_saved(tf, workers):
    both = workers(lambda: wrap("easgd", tf.train.AdamOptimizer(RATE)))

    for worker in both:
        with worker.graph.as_default():
            names = [variable.op.name for variable in tf.global_variables()]
            assert names == ["global_step", "w"]
            assert {v.device for v in tf.local_variables()} == {f"/job:worker/task:{worker.index}"}


def test_lookup_is_not_bound_to_servers(tf, workers):
    both = workers(lambda: wrap("easgd", tf.train.GradientDescentOptimizer(RATE)), [0, 2, 0])

    for worker in both:
        (lookup,) = (op for op in worker.graph.get_operations() if op.type == "ResourceGather")
        assert lookup.inputs[0].op.name == "w/easgd"
        assert lookup.device == f"/job:worker/task:{worker.index}"
        assert "_class" not in lookup.node_def.attr


def test_rho_times_learning_rate_is_moving_rate(tf, workers, gradients):
    both = workers(
        lambda: wrap(
            "easgd", tf.train.GradientDescentOptimizer(RATE), communication_period=1, rho=2.0
        )
    )

    both[1](gradients[0])

    moved = START - 0.2 * RATE * gradients[0]
    np.testing.assert_allclose(both[0].value(), moved, rtol=1e-5)


def test_elastic_workers_do_not_wait_for_each_other(tf, two_workers):
    two_workers(sync=True)

    with pytest.raises(ValueError, match="write --sync_replicas=False"):
        wrap("easgd", tf.train.GradientDescentOptimizer(RATE))


@pytest.mark.parametrize("rows", [None, [0, 2, 0]], ids=["dense", "sparse"])
def test_workers_apply_one_mean_of_their_sums(tf, workers, gradients, dense, rows):
    """Manual 5.2 with --sync_replicas=False and sync_on_apply=True."""
    both = workers(
        lambda: wrap("batch_gradients", tf.train.MomentumOptimizer(RATE, 0.9), num_batches=2), rows
    )
    w, speed = START.copy(), 0.0

    for first, second in zip(gradients[::2], gradients[1::2], strict=True):
        both[0](first)
        both[1](2 * first)
        np.testing.assert_allclose(both[0].value(), w, rtol=1e-5)
        at_once(lambda: both[1](second), lambda: both[0](3 * second))  # noqa: B023
        mean = dense(3 * first + 4 * second, rows) / 4
        touched = 1.0 if rows is None else np.isin(np.arange(3), rows)[:, None]
        speed = np.where(touched, 0.9 * speed + mean, speed)
        w = w - RATE * speed * touched
        np.testing.assert_allclose(both[1].value(), w, rtol=1e-5)

    assert both[0].session.run(both[0].step) == 16


def test_asynchronous_workers_apply_their_own_gradients(tf, workers, gradients):
    both = workers(
        lambda: wrap(
            "batch_gradients",
            tf.train.GradientDescentOptimizer(RATE),
            num_batches=2,
            sync_on_apply=False,
        )
    )
    assert both[0].hooks == []

    both[1](gradients[0])
    both[0](gradients[1])
    both[1](gradients[2])

    expected = START - RATE * (gradients[0] + gradients[2]) / 2
    np.testing.assert_allclose(both[0].value(), expected, rtol=1e-5)


def test_simple_sync_applies_the_mean_of_every_step(tf, workers, gradients):
    from moxing.tensorflow.optimizer.simple_sync_optimizer import SimpleSyncOptimizer

    numbers = iter([0, 1])
    both = workers(
        lambda: SimpleSyncOptimizer(
            tf.train.GradientDescentOptimizer(RATE), num_workers=2, task_index=next(numbers)
        )
    )

    w = START.copy()
    for gradient in gradients:
        at_once(lambda: both[1](gradient), lambda: both[0](3 * gradient))  # noqa: B023
        w = w - RATE * 2 * gradient
        np.testing.assert_allclose(both[1].value(), w, rtol=1e-4)


def test_worker_that_ends_blocks_no_other(tf, workers, gradients):
    both = workers(
        lambda: wrap("batch_gradients", tf.train.GradientDescentOptimizer(RATE), num_batches=1)
    )

    def train_on():
        with both[0].session as session:
            while not session.should_stop():
                session.run(both[0].done, {both[0].given: gradients[0]})

    at_once(train_on, both[1].session.close)


def test_simple_sync_of_one_worker_is_optimizer_inside(tf, steps, gradients, kinds):
    from moxing.tensorflow.optimizer.simple_sync_optimizer import SimpleSyncOptimizer

    for each in kinds:
        mine = steps(tf, SimpleSyncOptimizer(tf.train.AdamOptimizer(RATE)), **each)
        expected = steps(tf, tf.train.AdamOptimizer(RATE), **each)
        np.testing.assert_array_equal(mine(*gradients), expected(*gradients))


def test_an_index_beyond_the_workers_is_reported(tf):
    from moxing.tensorflow.optimizer.simple_sync_optimizer import SimpleSyncOptimizer

    with pytest.raises(ValueError, match=r"one of 2 worker\(s\), counted from 0, got 2"):
        SimpleSyncOptimizer(tf.train.AdamOptimizer(RATE), num_workers=2, task_index=2)
