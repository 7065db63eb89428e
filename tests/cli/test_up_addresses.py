import socket

import pytest

from danlu.cli.commands.server import _from_elsewhere


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_server_on_loopback_is_reached_from_nowhere_else(host):
    assert _from_elsewhere("http://127.0.0.1:9420", host) == ""


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_server_on_all_addresses_shows_host_name(host):
    assert _from_elsewhere("http://127.0.0.1:9420", host) == f"http://{socket.gethostname()}:9420"


def test_a_server_on_one_address_is_reached_there():
    assert _from_elsewhere("http://192.0.2.7:9420", "192.0.2.7") == "http://192.0.2.7:9420"
