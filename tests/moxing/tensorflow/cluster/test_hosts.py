"""Faults of cluster flags are reported before any process waits."""

import socket

import pytest

from danlu.errors import Unsupported
from moxing.tensorflow.executor.cluster.hosts import faults, is_here, listed, port_is_free

# Addresses of documents: no machine has them.
FAR = "192.0.2.7:2222"
HERE = "127.0.0.1:2222"


def checked_flags(job="worker", index=0, ps=HERE, workers="127.0.0.1:2223"):
    return faults(job, index, [*listed("ps", ps), *listed("worker", workers)])


def test_a_cluster_on_this_machine_has_no_fault():
    assert checked_flags(workers="127.0.0.1:2223, localhost:2224,[::1]:2225") == []


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            {"job": "wroker"},
            "--job_name must be ps or worker, got 'wroker'. Did you mean 'worker'?",
        ),
        (
            {"index": 2, "workers": "127.0.0.1:1,127.0.0.1:2"},
            "--task_index must be 0 to 1, for --worker_hosts has 2 addresses, got 2.",
        ),
        (
            {"index": -1},
            "--task_index must be 0 to 0, for --worker_hosts has 1 address, got -1.",
        ),
        (
            {"ps": ""},
            "--ps_hosts must name at least one address, such as 192.168.1.100:2222, got ''.",
        ),
        (
            {"ps": "127.0.0.1"},
            "--ps_hosts: address 0 must be host:port, such as 192.168.1.100:2222, got '127.0.0.1'.",
        ),
        (
            {"ps": "http://a:2222"},
            "--ps_hosts: address 0 must be host:port, such as 192.168.1.100:2222, "
            "got 'http://a:2222'.",
        ),
        ({"ps": "a:70000"}, "--ps_hosts: the port of 'a:70000' must be 1 to 65535."),
        (
            {"workers": HERE},
            "ps 0 at 127.0.0.1:2222 and worker 0 at 127.0.0.1:2222 share one address: give every "
            "process a port of its own.",
        ),
    ],
)
def test_a_fault_is_one_sentence(flags, sentence):
    assert checked_flags(**flags) == [sentence]


def test_all_faults_are_reported_at_once():
    assert len(checked_flags(index=5, ps="a,b:0", workers="127.0.0.1:2223")) == 3


def test_wrong_task_index_is_reported_with_right_one():
    """Manual, pitfall 2-3-1."""
    assert checked_flags(index=1, workers=f"127.0.0.1:2223,{FAR}") == [
        "--task_index=1 is worker 1 at 192.0.2.7:2222, which is no address of this machine: "
        "its task_index is 0."
    ]


def test_list_without_this_machine_shows_its_address():
    (sentence,) = checked_flags(job="ps", ps=FAR)

    assert sentence.startswith(
        "--task_index=0 is ps 0 at 192.0.2.7:2222, which is no address of this machine (it is "
    )
    assert sentence.endswith("the task_index of its own machine's address in --ps_hosts.")


def test_the_controller_is_not_there():
    with pytest.raises(Unsupported, match="--job_name=controller"):
        checked_flags(job="controller")


def test_unknown_name_is_not_here():
    assert not is_here("no-such-machine.invalid")


def test_port_in_use_is_not_free():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not port_is_free(port)

    assert port_is_free(port)
