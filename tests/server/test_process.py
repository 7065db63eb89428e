"""Whole server processes: how they begin, what they refuse, how they end."""

import asyncio
import json
import os
import shutil
import signal
import stat
import subprocess
import threading
from pathlib import Path

import httpx
import pytest
from server_process import Running, until

REQUEST = {"request": {"dialect": "fake", "name": "mnist"}}
TOKEN = "token-canary-0123456789"


@pytest.fixture
def server(home):
    with Running(home) as running:
        yield running


@pytest.fixture
def token(home):
    (home / "token").write_text(TOKEN)
    return {"Authorization": f"Bearer {TOKEN}"}


def test_server_reports_that_it_serves_when_it_does(server, home):
    reported = json.loads((home / "server.json").read_text())

    assert reported == server.info
    assert reported["pid"] == server.process.pid
    assert stat.S_IMODE(os.stat(reported["socket"]).st_mode) == 0o600
    with server.client() as client:
        assert client.get("/v1/hello").json()["home"] == str(home)


def test_a_second_server_of_the_home_refuses(server, home):
    with Running(home) as second:
        assert second.process.wait(100) == 1
        assert f"process {server.process.pid}," in second.info["error"]["message"]
        assert "Another server uses" in second.log()

    with server.client() as client:
        assert client.get("/v1/jobs").status_code == 200


def test_a_killed_server_leaves_nothing_in_the_way(home):
    with Running(home) as first, first.client() as client:
        client.post("/v1/jobs", json=REQUEST)
        first.process.kill()
        first.process.wait()
        assert Path(first.info["socket"]).exists()

    with Running(home) as second, second.client() as client:
        assert client.get("/v1/jobs/mnist").status_code == 200


def test_stopped_server_answers_waiting_clients_and_cleans_up(server, home):
    answers = []

    def wait():
        with server.client() as client:
            answers.append(client.get("/v1/jobs/mnist/wait?timeout=60"))

    alone = _sockets(server)
    with server.client() as client:
        client.post("/v1/jobs", json=REQUEST)
        waiter = threading.Thread(target=wait)
        waiter.start()
        until(lambda: _sockets(server) >= alone + 2)
    server.process.send_signal(signal.SIGTERM)

    assert server.process.wait(100) == 0
    waiter.join()
    assert answers[0].json()["state"] == "running"
    assert not Path(server.info["socket"]).exists()
    assert not (home / "server.json").exists()


def _sockets(server):
    sockets = 0
    for handle in Path(f"/proc/{server.process.pid}/fd").iterdir():
        try:
            sockets += "socket:" in os.readlink(handle)
        except FileNotFoundError:
            continue
    return sockets


def test_shutdown_ends_the_process(server):
    with server.client() as client:
        assert client.post("/v1/shutdown").json() == {"living": 0}

    assert server.process.wait(100) == 0


def test_an_unused_server_leaves(home):
    with Running(home, DANLU_IDLE_EXIT="0.2") as server:
        assert server.process.wait(100) == 0
        assert "because=idle" in server.log()


def test_server_stays_until_its_job_has_ended(home):
    # Submitted to a server before: this one might leave while a slow machine sends the request.
    with Running(home) as before, before.client() as client:
        job = client.post("/v1/jobs", json=REQUEST).json()
    with Running(home, DANLU_IDLE_EXIT="0.2") as server:
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1.5)
        with server.client() as client:
            assert client.get("/v1/jobs/mnist/wait?timeout=0").json()["state"] == "running"
        (home / "fake" / f"{job['id']}.end").write_text("succeeded")
        assert server.process.wait(100) == 0


def test_a_server_whose_home_is_removed_leaves(server, home):
    shutil.rmtree(home)

    assert server.process.wait(100) == 0


def test_tcp_needs_a_token_to_begin_with(home):
    with Running(home, "--tcp", "0.0.0.0:0") as server:
        assert server.process.wait(100) == 2
        assert "needs a token" in server.info["error"]["message"]


def test_server_on_tcp_does_not_leave_when_idle(home, token):
    with Running(home, "--tcp", "127.0.0.1:0", DANLU_IDLE_EXIT="0.1") as server:
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(1)
        assert httpx.get(f"{server.info['url']}/v1/jobs", headers=token).status_code == 200


def test_nothing_secret_is_written_or_shown(home, token):
    body = {**REQUEST, "secrets": {"AK": "secret-canary"}}
    bad = {"request": {"dialect": "x"}, "secrets": {"AK": "secret-canary"}}
    with Running(home, "--tcp", "127.0.0.1:0") as server:
        post = f"{server.info['url']}/v1/jobs"
        answers = [httpx.post(post, json=sent, headers=token) for sent in (body, bad)]
        shown = Path(f"/proc/{server.process.pid}/cmdline").read_bytes()
        server.process.terminate()
        assert server.process.wait(100) == 0
        texts = [answer.text.encode() for answer in answers]
        texts += [shown, server.log().encode()]
    files = (path for path in home.rglob("*") if path.is_file() and path.name != "token")
    texts += [path.read_bytes() for path in files]

    assert [answer.status_code for answer in answers] == [201, 422]
    assert not [text for text in texts if b"canary" in text]


def test_two_hundred_followers_are_harmless(server, home):
    alone = _sockets(server)
    with server.client() as client:
        job = client.post("/v1/jobs", json=REQUEST).json()

    async def scene():
        transport = httpx.AsyncHTTPTransport(
            uds=server.info["socket"], limits=httpx.Limits(max_connections=300)
        )
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", timeout=60
        ) as client:
            path = f"/v1/jobs/{job['id']}/lines?cursor=0&wait=60"
            followers = [asyncio.create_task(client.get(path)) for _ in range(200)]
            while _sockets(server) < alone + 200:
                await asyncio.sleep(0.02)
            assert (await client.get("/v1/hello")).status_code == 200
            threads = len(list(Path(f"/proc/{server.process.pid}/task").iterdir()))
            (home / "fake" / f"{job['id']}.log").write_text("hello\n")
            return threads, await asyncio.gather(*followers)

    threads, answers = asyncio.run(scene())

    assert threads < 30
    assert [a.json()["lines"] for a in answers] == [[{"task": "worker-0", "text": "hello"}]] * 200
