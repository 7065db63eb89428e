"""Where a Ray head listens: known ports where they are free, and never another cluster's."""

import socket
from contextlib import contextmanager

import pytest

from danlu.errors import Refused
from danlu.executors.ray.head_address import find_doors, host_of

HOST = "127.0.0.9"  # nobody else's on this machine


@contextmanager
def taken(host, port=0):
    """Hold a port as the head of another cluster does."""
    with socket.socket() as holder:
        holder.bind((host, port))
        holder.listen()
        yield holder.getsockname()[1]


def free(host):
    with taken(host) as port:
        return port


def test_a_head_has_the_ports_of_the_one_before_it():
    port, dashboard = free(HOST), free("127.0.0.1")

    doors = find_doors(HOST, f"{HOST}:{port}", f"http://127.0.0.1:{dashboard}")

    assert doors.address == f"{HOST}:{port}"
    assert doors.dashboard == f"http://127.0.0.1:{dashboard}"


def test_two_heads_of_a_machine_have_no_door_in_common():
    with taken(HOST) as port, taken("127.0.0.1") as dashboard, taken(HOST, 10_001):
        doors = find_doors(HOST, f"{HOST}:{port}", f"http://127.0.0.1:{dashboard}")

    assert doors.port not in (port, 0)
    assert doors.dashboard_port not in (dashboard, 0)
    assert doors.client_port not in (10_001, 0)


def test_ray_hears_of_every_door():
    doors = find_doors(HOST, "", "")

    for door in (doors.host, doors.port, doors.dashboard_port, doors.client_port):
        assert any(option.endswith(f"={door}") for option in doors.options)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(Refused, match=r"'192\.0\.2\.7': it is no address of this machine"):
        find_doors("192.0.2.7", "", "")


@pytest.mark.parametrize("told", ["127.0.0.1", "localhost", "::1"])
def test_a_loopback_address_is_one_that_ray_leaves_as_it_is(told):
    assert host_of(told) == "127.0.0.2"
