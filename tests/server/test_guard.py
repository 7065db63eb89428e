"""Hosts and tokens one by one; every route with every kind of asker is in tests/security."""

import pytest
from http_requests import Asker

from danlu.server.guard import Auth, host_name, is_ours
from danlu.settings import Secret


def test_hello_without_token_shows_only_the_api(app):
    answer = Asker(app, local=False)("GET", "/v1/hello")

    assert answer.json() == {"api": 1}


def test_empty_token_grants_no_access():
    assert not Auth(token=Secret("")).accepts("Bearer ")


@pytest.mark.parametrize(
    ("host", "arrived_at", "ours"),
    [
        ("localhost:9420", "127.0.0.1", True),
        ("LOCALHOST.", "127.0.0.1", True),
        ("[::1]:9420", "::1", True),
        ("192.168.1.5:9420", "192.168.1.5", True),
        ("192.168.1.6:9420", "192.168.1.5", False),
        ("box.local", "192.168.1.5", False),
        ("localhost.evil.example", "127.0.0.1", False),
        ("evil.example:localhost", "127.0.0.1", False),
        ("user@localhost", "127.0.0.1", False),
    ],
)
def test_host_header_must_match_name_or_address(host, arrived_at, ours):
    assert is_ours(host, Auth().hosts, arrived_at) is ours


def test_a_host_is_taken_without_its_port():
    assert [host_name(text) for text in ("A:1", "[::1]:2", "a.")] == ["a", "::1", "a"]
