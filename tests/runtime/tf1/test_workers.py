"""Between-graph programs of TensorFlow 1 that know nothing of the runtime."""

import functools

import pytest

from processes import Site


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    yield made
    made.end()


def script(met):
    """SyncReplicasOptimizer as its documentation shows it; ``met``: a file, once all are there."""
    import tensorflow.compat.v1 as tf

    flags = tf.flags
    flags.DEFINE_string("job_name", "", "")
    flags.DEFINE_integer("task_index", 0, "")
    flags.DEFINE_list("ps_hosts", [], "")
    flags.DEFINE_list("worker_hosts", [], "")
    given = flags.FLAGS
    index = given.task_index
    cluster = tf.train.ClusterSpec({"ps": given.ps_hosts, "worker": given.worker_hosts})
    server = tf.train.Server(cluster, job_name=given.job_name, task_index=index)
    if given.job_name == "ps":
        server.join()
    place = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=cluster
    )
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


def test_a_synchronous_run_begins_and_ends_without_a_pause(tf, site, monkeypatch):
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
