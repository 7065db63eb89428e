"""Which process reads and writes the checkpoints of a cluster."""

import pytest

from processes import free_ports

FILES = ("SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename")


@pytest.fixture
def cluster(tf):
    if tf is None:
        return None
    ps, worker = (f"127.0.0.1:{port}" for port in free_ports(2))
    found = tf.train.ClusterSpec({"ps": [ps], "worker": [worker]})
    tf.train.Server(found, job_name="worker", task_index=0)
    return found


def places_of_files(tf):
    found = tf.get_default_graph().get_operations()
    return {op.device for op in found if op.type in FILES}


@pytest.mark.parametrize("sharded", [False, True])
def test_process_whose_saver_it_is_reads_and_writes(tf, cluster, sharded):
    with tf.device(tf.train.replica_device_setter(cluster=cluster)):
        tf.get_variable("w", [4])
    tf.train.Saver(sharded=sharded)

    assert places_of_files(tf) == {"/job:worker/task:0/device:CPU:0"}


def test_graph_that_knows_of_no_cluster_is_unchanged(tf, cluster):
    """An Estimator's master evaluates alone: its session has no such devices."""
    tf.get_variable("w", [4])
    tf.train.Saver(sharded=True)

    assert not any("/job:" in device for device in places_of_files(tf))


def test_a_process_alone_is_left_alone(tf):
    server = tf.train.Server.create_local_server()
    with tf.device("/job:local/task:0"):
        tf.get_variable("w", [4])
    tf.train.Saver()

    assert server.target
    assert not any("/job:" in device for device in places_of_files(tf))
