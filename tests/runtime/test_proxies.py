import os

import pytest

from danlu_runtime.cluster import bypass


@pytest.fixture
def kept(monkeypatch):
    """Return what is kept from a proxy after a cluster of two was."""

    def after(**env):
        for name in ("grpc_proxy", "https_proxy", "http_proxy", "no_proxy", "no_grpc_proxy"):
            monkeypatch.setenv(name, env.get(name, ""))
        bypass(["10.0.0.1", "node"])
        return {name: os.environ[name] for name in ("no_proxy", "no_grpc_proxy")}

    return after


def test_cluster_and_this_machine_are_kept_from_proxy(kept):
    assert kept(http_proxy="http://proxy:3128") == {
        "no_proxy": "",
        "no_grpc_proxy": "localhost,127.0.0.1,10.0.0.1,node",
    }


def test_what_was_kept_from_it_stays_so(kept):
    assert kept(https_proxy="http://proxy:3128", no_proxy="a.com, node") == {
        "no_proxy": "a.com, node",
        "no_grpc_proxy": "a.com,node,localhost,127.0.0.1,10.0.0.1",
    }


def test_without_a_proxy_nothing_is_changed(kept):
    assert kept(no_proxy="a.com") == {"no_proxy": "a.com", "no_grpc_proxy": ""}
