"""Where a Ray head listens: known ports where they are free, and never another cluster's."""

import socket
from contextlib import contextmanager

import pytest

from danlu.errors import Refused
from danlu.executors.ray.head import find_ports, host_of

HOST = "127.0.0.9"  # used by no other process of this machine


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


def test_head_has_ports_of_one_before_it():
    port, dashboard = free(HOST), free("127.0.0.1")

    ports = find_ports(HOST, f"{HOST}:{port}", f"http://127.0.0.1:{dashboard}")

    assert ports.address == f"{HOST}:{port}"
    assert ports.dashboard == f"http://127.0.0.1:{dashboard}"


def test_two_heads_of_a_machine_share_no_port():
    with taken(HOST) as port, taken("127.0.0.1") as dashboard, taken(HOST, 10_001):
        ports = find_ports(HOST, f"{HOST}:{port}", f"http://127.0.0.1:{dashboard}")

    assert ports.port not in (port, 0)
    assert ports.dashboard_port not in (dashboard, 0)
    assert ports.client_port not in (10_001, 0)


def test_ray_start_gets_every_port():
    ports = find_ports(HOST, "", "")

    for port_text in (ports.host, ports.port, ports.dashboard_port, ports.client_port):
        assert any(option.endswith(f"={port_text}") for option in ports.options)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(Refused, match=r"'192\.0\.2\.7': it is not an address of this machine"):
        find_ports("192.0.2.7", "", "")


@pytest.mark.parametrize("reported", ["127.0.0.1", "localhost", "::1"])
def test_loopback_address_is_one_that_ray_leaves_unchanged(reported):
    assert host_of(reported) == "127.0.0.2"
