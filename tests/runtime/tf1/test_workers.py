"""Between-graph programs of TensorFlow 1 that know nothing of the runtime."""

import functools

import pytest

from processes import Site, joined_cluster


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.end()


def script(met):
    """SyncReplicasOptimizer as its documentation shows it; ``met``: a file, once all are there."""
    import tensorflow.compat.v1 as tf

    server, index, place = joined_cluster()
    with tf.device(place):
        step = tf.train.get_or_create_global_step()
        weights = tf.get_variable("weights", [4, 1])
        loss = tf.reduce_mean(tf.square(tf.random_normal([8, 4]) @ weights - 1.0))
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.01), 2, 2)
        train = optimizer.minimize(loss, global_step=step)
    hooks = [optimizer.make_session_run_hook(index == 0)]
    done = 0
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks) as session:
        while not session.should_stop() and (index or not met.exists()):
            session.run(train)
            done += 1
            if index:
                met.touch()
    return done


def test_synchronous_run_begins_and_ends_without_pause(tf, site, monkeypatch):
    """Its worker looked every 30 s for the chief, which waited 120 s for a thread at the end.

    And with a proxy, which refuses every connection here, they did not find each other.
    """
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    run = functools.partial(script, site.folder / "met")
    site.begin("ps", 0, run)
    chief = site.begin("worker", 0, run)
    worker = site.begin("worker", 1, run)

    assert [chief.waits(25), worker.waits(25)] == [0, 0]
    assert worker.value > 0
