"""This machine's own server, as clients start, share, replace and end it."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

import danlu
import danlu.client.background
from danlu.client import background, connect
from danlu.client.background import bring_down, bring_up, status
from danlu.errors import Conflict, NotAllowed, PlatformError, Refused, Unavailable

REQUEST = {"dialect": "fake", "name": "mnist"}


def test_first_client_starts_server_and_next_finds_it(platform):
    first = platform.connect().hello()
    second = platform.connect().hello()

    assert first["pid"] == second["pid"] == platform.pid
    assert platform.starts() == 1


def test_of_many_clients_at_once_one_starts_server(platform):
    pids = []
    clients = [
        threading.Thread(target=lambda: pids.append(platform.connect().hello()["pid"]))
        for _ in range(8)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()

    assert pids == [platform.pid] * 8
    assert platform.starts() == 1


def test_looking_starts_nothing(platform):
    found = status(platform.settings)

    assert not found.running
    assert not platform.settings.home.exists()


def test_down_stops_server_and_counts_running_jobs(platform):
    platform.connect().submit(REQUEST)

    assert status(platform.settings).living == 1
    assert bring_down(platform.settings) == 1
    assert bring_down(platform.settings) is None
    assert not status(platform.settings).running


def test_an_older_idle_server_is_replaced(platform, monkeypatch):
    before = platform.connect().hello()["pid"]
    monkeypatch.setattr(danlu, "__version__", "99.0.0")

    assert platform.connect().hello()["pid"] == platform.pid != before


def test_an_older_server_with_jobs_is_left_alone(platform, monkeypatch):
    platform.connect().submit(REQUEST)
    monkeypatch.setattr(danlu, "__version__", "99.0.0")

    with pytest.raises(Conflict, match="has unfinished jobs"):
        platform.connect()


def test_a_newer_server_is_not_touched(platform, monkeypatch):
    platform.connect()
    monkeypatch.setattr(danlu, "__version__", "0.0.1")

    with pytest.raises(Refused, match="server of another version"):
        platform.connect()


def test_up_adds_an_address_and_a_token(platform):
    local = platform.connect()
    local.submit(REQUEST)

    up = bring_up(platform.settings, "127.0.0.1", 0)

    elsewhere = connect(platform.settings, server=up.url, token=up.token)
    assert elsewhere.job("mnist")["state"] == "running"
    assert local.job("mnist")["state"] == "running"
    assert status(platform.settings).url == up.url
    assert stat.S_IMODE((platform.settings.home / "token").stat().st_mode) == 0o600


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_client_without_the_token_is_reported(platform, token):
    up = bring_up(platform.settings, "127.0.0.1", 0)

    with pytest.raises(NotAllowed) as caught:
        connect(platform.settings, server=up.url, token=token).jobs()

    assert caught.value.exit_code == 4


def test_up_again_changes_nothing(platform):
    first = bring_up(platform.settings, "127.0.0.1", 0)
    pid = platform.pid

    assert bring_up(platform.settings, "127.0.0.1", 0) == first
    assert platform.pid == pid


def test_token_survives_restarts_until_rotated(platform):
    first = bring_up(platform.settings, "127.0.0.1", 0)
    bring_down(platform.settings)
    second = bring_up(platform.settings, "127.0.0.1", 0)
    third = bring_up(platform.settings, "127.0.0.1", 0, rotate=True)

    assert first.token == second.token != third.token
    with pytest.raises(NotAllowed):
        connect(platform.settings, server=third.url, token=first.token).jobs()


def test_a_killed_server_comes_back_at_its_address(platform):
    up = bring_up(platform.settings, "127.0.0.1", 0)
    platform.kill()

    platform.connect()

    assert status(platform.settings).url == up.url
    assert connect(platform.settings, server=up.url, token=up.token).jobs()["jobs"] == []


def test_address_that_was_taken_down_does_not_return(platform):
    bring_up(platform.settings, "127.0.0.1", 0)
    platform.kill()
    assert bring_down(platform.settings) is None

    platform.connect()

    found = status(platform.settings)
    assert (found.running, found.url) == (True, "")


def test_a_port_that_is_taken_is_reported(platform):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"Cannot listen on 127.0.0.1:{port}"):
            bring_up(platform.settings, "127.0.0.1", port)


def test_a_server_that_does_not_answer_is_named(platform, monkeypatch):
    monkeypatch.setattr(background, "_HELLO_TIMEOUT", 0.2)
    platform.connect()
    os.kill(platform.pid, signal.SIGSTOP)
    try:
        with pytest.raises(Unavailable, match=f"process {platform.pid}"):
            platform.connect()
    finally:
        os.kill(platform.pid, signal.SIGCONT)


def test_failed_server_start_leaves_reason_in_log(platform, monkeypatch):
    monkeypatch.setattr(
        danlu.client.background,
        "command",
        lambda settings: [sys.executable, "-c", "raise SystemExit('no reason at all')"],
    )

    with pytest.raises(PlatformError, match="exit code 1") as caught:
        platform.connect()

    log = platform.settings.home / "server.log"
    assert str(log) in caught.value.hint
    assert "no reason at all" in log.read_text()


def test_server_does_not_adopt_what_belongs_to_task(platform, monkeypatch):
    for name in ("DANLU_TASK", "DANLU_JOB_ID", "DANLU_TOKEN"):
        monkeypatch.setenv(name, "x")

    platform.connect()

    with open(f"/proc/{platform.pid}/environ", "rb") as file:
        names = {entry.partition(b"=")[0] for entry in file.read().split(b"\0")}
    assert b"DANLU_HOME" in names
    assert not names & {b"DANLU_TASK", b"DANLU_JOB_ID", b"DANLU_TOKEN"}


def test_a_server_outlives_its_starter(platform):
    program = "import sys; sys.path.insert(0, sys.argv[1])\nimport starter"
    starter = platform.settings.home.parent / "starter.py"
    starter.write_text(
        "import danlu, danlu.client.background as spawn\n"
        f"spawn.command = lambda settings: {danlu.client.background.command(platform.settings)!r}\n"
        "danlu.connect()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(starter.parent)], capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert status(platform.settings).running


IMPOSTOR = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.setuid(12345)
listener.listen()
print("ready", flush=True)
listener.accept()[0].recv(1)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_server_of_another_user_receives_no_request(platform):
    platform.settings.socket.parent.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", IMPOSTOR, platform.settings.socket], stdout=subprocess.PIPE
    ) as impostor:
        impostor.stdout.readline()
        with pytest.raises(NotAllowed, match="another user"):
            platform.connect()
        impostor.kill()
