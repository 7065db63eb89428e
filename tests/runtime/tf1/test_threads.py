"""TensorFlow's sessions and servers obey the variables that size a task's thread pools."""

from pathlib import Path

import pytest


def threads_named(name):
    found = Path("/proc/self/task").glob("*/comm")
    return sum(path.read_text().strip() == name for path in found)


@pytest.mark.parametrize("with_server", [False, True], ids=["session", "server"])
def test_pool_size_is_variable_unless_script_sets_it(tf, monkeypatch, with_server):
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "3")
    target = ""
    if with_server:
        server = tf.train.Server.create_local_server()
        target = server.target
    with tf.Session(target) as session:
        session.run(tf.matmul(tf.ones([9, 9]), tf.ones([9, 9])))

    assert threads_named("tf_Compute") == 3


def test_session_of_script_s_own_size_keeps_it(tf, monkeypatch):
    monkeypatch.setenv("TF_NUM_INTEROP_THREADS", "3")
    config = tf.ConfigProto(inter_op_parallelism_threads=5)
    with tf.Session(config=config) as session:
        session.run(tf.matmul(tf.ones([9, 9]), tf.ones([9, 9])))

    assert threads_named("tf_Compute") == 5
