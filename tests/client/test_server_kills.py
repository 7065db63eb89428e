"""A server is killed at any moment, and its clients continue."""

import io
import random
import threading

import pytest

from danlu.client import connect
from danlu.client.background import bring_up
from danlu.errors import Refused, WaitTimedOut

REQUEST = {"dialect": "fake", "name": "mnist"}


def test_a_follower_goes_on_from_its_line(platform, until):
    client = platform.connect()
    job = client.submit(REQUEST)
    received = []
    follower = threading.Thread(target=lambda: received.extend(client.follow("mnist")))
    follower.start()

    lines = []
    for round_ in range(4):
        for number in range(5):
            lines.append(f"line {round_}.{number}")
            platform.write_output(job, lines[-1] + "\n")
        if round_ < 3:
            until(lambda: len(lines) // 5 <= platform.starts())
            platform.kill()
            until(lambda wanted=round_ + 2: platform.starts() >= wanted)
    platform.end(job)
    follower.join(60)

    assert [line.text for line in received] == lines


def test_follower_receives_unfinished_lines(platform, until):
    client = platform.connect()
    job = client.submit(REQUEST)
    platform.write_output(job, "one\n 10%")
    bars = []
    follower = threading.Thread(target=lambda: list(client.follow("mnist", on_partial=bars.append)))
    follower.start()

    until(lambda: {"worker-0": " 10%"} in bars)
    platform.write_output(job, "\r 20%")
    until(lambda: {"worker-0": " 10%\r 20%"} in bars)
    platform.end(job)
    follower.join(100)


def test_wait_continues_after_a_server_restart(platform, until):
    client = platform.connect()
    job = client.submit(REQUEST)
    ended = []
    waiter = threading.Thread(target=lambda: ended.append(client.wait("mnist")))
    waiter.start()

    platform.kill()
    until(lambda: platform.starts() == 2)
    platform.end(job)
    waiter.join(60)

    assert ended[0]["state"] == "succeeded"


def test_waiting_has_an_end(platform):
    client = platform.connect()
    client.submit(REQUEST)

    with pytest.raises(WaitTimedOut, match=r"is running after 0\.1 seconds"):
        client.wait("mnist", timeout=0.1)


def test_an_upload_begins_again(platform):
    client = platform.connect()
    client.hello()
    archive = io.BytesIO(random.Random(1).randbytes(3 << 20))
    platform.kill()

    uri = client.upload_code(archive)

    assert client.upload_code(archive) == uri
    assert platform.starts() == 2


def submit_while_killing(platform, rounds, seed):
    """Submit with a server that is killed at random moments; return acknowledged and listed ids."""
    chance = random.Random(seed)
    client = platform.connect()
    reported = []
    for number in range(rounds):
        killer = threading.Timer(chance.uniform(0, 0.02), platform.kill)
        killer.start()
        reported.append(client.submit({"dialect": "fake", "name": f"job-{number}"})["id"])
        killer.join()
    return reported, [job["id"] for job in client.jobs(limit=500)["jobs"]]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [6, pytest.param(300, marks=pytest.mark.long)])
def test_an_acknowledged_job_is_there_and_there_once(platform, rounds):
    reported, listed = submit_while_killing(platform, rounds, seed=20)

    assert sorted(reported) == sorted(listed)
    assert len(reported) == rounds
    assert platform.starts() > rounds // 2  # most were killed and came back


def test_follower_does_not_notice_that_server_was_replaced(platform, until):
    client = platform.connect()
    job = client.submit(REQUEST)
    received = []
    follower = threading.Thread(target=lambda: received.extend(client.follow("mnist")))
    follower.start()
    platform.write_output(job, "before\n")
    until(lambda: received)

    bring_up(platform.settings, "127.0.0.1", 0)
    platform.write_output(job, "after\n")
    platform.end(job)
    follower.join(60)

    assert [line.text for line in received] == ["before", "after"]
    assert platform.starts() == 2


@pytest.mark.parametrize("over_tcp", [False, True])
def test_oversized_body_gets_response_not_reset(platform, monkeypatch, over_tcp):
    monkeypatch.setenv("DANLU_CODE_LIMIT", "1M")
    archive = io.BytesIO(random.Random(1).randbytes(20 << 20))
    client = platform.connect()
    if over_tcp:
        up = bring_up(platform.settings, "127.0.0.1", 0)
        client = connect(platform.settings, server=up.url, token=up.token)

    with pytest.raises(Refused, match="bytes at most"):
        client.upload_code(archive)
