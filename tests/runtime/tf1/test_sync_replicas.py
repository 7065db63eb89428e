"""A synchronous run of two workers, written with TensorFlow's own optimizer."""

import functools

import pytest

from processes import Site, joined_cluster

BATCHES = 6


@pytest.fixture
def new_site(tmp_path):
    made = []

    def make(workers):
        folder = tmp_path / str(workers)
        folder.mkdir()
        made.append(Site(folder, workers))
        return made[-1]

    yield make
    for site in made:
        site.end()


def script(optimizer, workers):
    """Train on 48 rows, in batches of 8 for all workers together; return the weights."""
    import time

    import numpy as np
    import tensorflow.compat.v1 as tf

    server, index, place = joined_cluster()
    x = np.random.RandomState(3).rand(8 * BATCHES, 4).astype(np.float32)
    y = x.dot(np.array([[1.0], [-2.0], [0.5], [3.0]], np.float32))
    rows = [np.arange(8 * n + index, 8 * (n + 1), workers) for n in range(BATCHES)]
    with tf.device(place):
        step = tf.train.get_or_create_global_step()
        inputs = tf.placeholder(tf.float32, [None, 4])
        labels = tf.placeholder(tf.float32, [None, 1])
        weights = tf.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
        bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(inputs @ weights + bias - labels))
        made = tf.train.SyncReplicasOptimizer(getattr(tf.train, optimizer)(0.1), workers, workers)
        train = made.minimize(loss, global_step=step)
    hooks = [made.make_session_run_hook(index == 0)]
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks) as session:
        for mine in rows:
            if index:
                time.sleep(0.05)  # the slower one: the other had its tokens
            session.run(train, {inputs: x[mine], labels: y[mine]})
        return [*session.run(weights).ravel(), session.run(bias)]


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer", "AdamOptimizer"])
def test_two_workers_are_one_with_the_whole_batch(tf, new_site, optimizer):
    two, one = new_site(2), new_site(1)
    _, (chief, _) = two.begin_all(functools.partial(script, optimizer, 2))
    _, (alone,) = one.begin_all(functools.partial(script, optimizer, 1))

    assert [chief.waits(), alone.waits()] == [0, 0]
    assert chief.value == pytest.approx(alone.value, abs=1e-5)
    assert max(map(abs, alone.value)) > 0.1
