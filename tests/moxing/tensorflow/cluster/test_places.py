"""Where operations and variables of a worker are."""

import sys

import pytest

from moxing.tensorflow.executor import ops_adapter
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


@pytest.fixture
def flags(monkeypatch):
    def give(**values):
        words = [f"--{name}={value}" for name, value in values.items()]
        monkeypatch.setattr(sys, "argv", ["train.py", *words])
        mox_flags.forget()

    yield give
    mox_flags.forget()


@pytest.fixture
def cluster(tf):
    from moxing.tensorflow.executor.cluster.cluster import Cluster

    return Cluster("worker", 1, ("a:1", "b:1"), ("a:2", "b:2"))


def test_without_flags_there_is_no_cluster(tf, flags):
    from moxing.tensorflow.executor.cluster.cluster import Cluster

    flags(worker_hosts="a:1,b:1")

    assert Cluster.of_flags() is None


def test_a_process_knows_its_part(tf, flags):
    from moxing.tensorflow.executor.cluster.cluster import Cluster

    hosts = {"ps_hosts": "127.0.0.1:1", "worker_hosts": "127.0.0.1:2,127.0.0.1:3"}
    flags(job_name="worker", task_index=1, sync_replicas=False, **hosts)
    worker = Cluster.of_flags()
    flags(job_name="worker", **hosts)
    chief = Cluster.of_flags()

    assert (worker.index, worker.is_chief, worker.steps_together) == (1, False, False)
    assert (chief.index, chief.is_chief, chief.steps_together) == (0, True, True)
    assert worker.workers == ("127.0.0.1:2", "127.0.0.1:3")


def test_variables_go_round_servers_and_rest_is_workers(tf, cluster):
    with tf.Graph().as_default(), cluster.building():
        variables = [tf.get_variable(f"v{i}", [2], use_resource=True) for i in range(3)]
        with tf.device(cluster.devices("/device:GPU:1")):
            total = tf.add_n(variables)
            last = tf.get_variable("last", [2], use_resource=True)
        with tf.device("/cpu:0"):
            fed = tf.constant(1.0)

    assert [each.device for each in (*variables, last)] == [
        f"/job:ps/task:{task}/device:CPU:0" for task in (0, 1, 0, 1)
    ]
    assert total.device == "/job:worker/task:1/device:GPU:1"
    assert fed.device == "/job:worker/task:1/device:CPU:0"


def test_slots_are_beside_variables_metrics_at_worker(tf, cluster):
    with tf.Graph().as_default(), cluster.building():
        variable = tf.get_variable("v", [2], use_resource=True)
        other = tf.get_variable("w", [2], use_resource=True)
        optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
        optimizer.minimize(tf.reduce_sum(variable * other))
        tf.metrics.mean(tf.constant(1.0))

        assert optimizer.get_slot(other, "momentum").device == other.device
        assert {each.device for each in tf.local_variables()} == {"/job:worker/task:1/device:CPU:0"}


def test_chiefs_own_files_are_written_by_chief(tf, cluster):
    """A server may be another machine."""
    with tf.Graph().as_default() as graph, cluster.building():
        tf.get_variable("v", [2], use_resource=True)
        tf.train.Saver()

        files = [op for op in graph.get_operations() if op.type in ("SaveV2", "RestoreV2")]
        assert len(files) == 2
        assert all(op.device.startswith("/job:worker/task:1") for op in files)


def test_workers_are_counted_for_sharing_out_data(flags):
    flags()
    alone = (ops_adapter.size(), ops_adapter.rank())
    flags(job_name="worker", task_index=2, worker_hosts="a:1,b:1,c:1")

    assert alone == (1, 0)
    assert (ops_adapter.size(), ops_adapter.rank()) == (3, 2)
