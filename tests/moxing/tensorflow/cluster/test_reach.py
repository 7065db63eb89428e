"""Processes find each other, or report the missing ones."""

import os
import socket


def test_a_port_in_use_is_reported_at_once(tf, site):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", int(site.ps[0].rpartition(":")[2])))
        listener.listen()
        server = site.begin("ps", 0, site.training())
        code = server.waits()

    assert code == 1
    port = site.ps[0].rpartition(":")[2]
    assert f"OSError: Port {port} of ps 0 at {site.ps[0]} is in use: end the process" in server.text


def test_a_wrong_task_index_is_reported_at_once(tf, site):
    worker = site.begin("worker", 2, site.training())

    assert worker.waits() == 1
    assert "ValueError: --task_index must be 0 to 1" in worker.text


def test_missing_process_is_named(tf, site):
    chief = site.begin("worker", 0, site.training(), session_timeout=1)

    assert chief.waits() == 1
    assert (
        "TimeoutError: Waited 1 s (--session_timeout) in vain for "
        f"ps 0 at {site.ps[0]}, worker 1 at {site.workers[1]}." in chief.text
    )


def test_a_server_without_workers_names_them(tf, site):
    server = site.begin("ps", 0, site.training(), session_timeout=1)

    assert server.waits() == 1
    assert f"in vain for worker 0 at {site.workers[0]}, worker 1 at" in server.text


def test_proxy_is_passed_by_and_its_variables_stay(tf, site, monkeypatch):
    """Manual, pitfall 2-3-1: its cure, ``os.environ.pop``, fails where there is none."""
    unused = "http://127.0.0.1:9"  # the proxy refuses every connection
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, unused)
    monkeypatch.setenv("no_proxy", "example.com")
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    training = site.training()

    def script():
        seen = training()
        return seen, {name: os.environ.pop(name) for name in ("http_proxy", "https_proxy")}

    servers, workers = site.begin_all(script)

    assert [task.waits() for task in (*workers, *servers)] == [0, 0, 0]
    assert workers[1].value == (
        list(range(1, 13)),
        {"http_proxy": unused, "https_proxy": unused},
    )


def test_servers_start_together_where_that_is_asked_for(tf, site):
    training = site.training()
    flags = {"sync_before_server": True}
    server = site.begin("ps", 0, training, **flags)
    chief = site.begin("worker", 0, training, **flags)
    assert "serves until" not in server.text
    worker = site.begin("worker", 1, training, **flags)

    assert [task.waits() for task in (chief, worker, server)] == [0, 0, 0]
