"""A server is killed in the middle of everything, and whoever was using it goes on."""

import io
import random
import threading

import pytest

from danlu.client import connect
from danlu.client.background import bring_up
from danlu.errors import Refused, WaitTimedOut

REQUEST = {"dialect": "fake", "name": "mnist"}


def test_a_follower_goes_on_from_its_line(house, until):
    client = house.connect()
    job = client.submit(REQUEST)
    heard = []
    follower = threading.Thread(target=lambda: heard.extend(client.follow("mnist")))
    follower.start()

    lines = []
    for round_ in range(4):
        for number in range(5):
            lines.append(f"line {round_}.{number}")
            house.say(job, lines[-1] + "\n")
        if round_ < 3:
            until(lambda: len(lines) // 5 <= house.starts())
            house.kill()
            until(lambda wanted=round_ + 2: house.starts() >= wanted)
    house.end(job)
    follower.join(60)

    assert [line.text for line in heard] == lines


def test_a_follower_is_told_of_lines_that_have_begun(house, until):
    client = house.connect()
    job = client.submit(REQUEST)
    house.say(job, "one\n 10%")
    bars = []
    follower = threading.Thread(target=lambda: list(client.follow("mnist", on_partial=bars.append)))
    follower.start()

    until(lambda: {"worker-0": " 10%"} in bars)
    house.say(job, "\r 20%")
    until(lambda: {"worker-0": " 10%\r 20%"} in bars)
    house.end(job)
    follower.join(30)


def test_who_waits_goes_on_waiting(house, until):
    client = house.connect()
    job = client.submit(REQUEST)
    ended = []
    waiter = threading.Thread(target=lambda: ended.append(client.wait("mnist")))
    waiter.start()

    house.kill()
    until(lambda: house.starts() == 2)
    house.end(job)
    waiter.join(60)

    assert ended[0]["state"] == "succeeded"


def test_waiting_has_an_end(house):
    client = house.connect()
    client.submit(REQUEST)

    with pytest.raises(WaitTimedOut, match=r"is running after 0\.1 seconds"):
        client.wait("mnist", timeout=0.1)


def test_an_upload_begins_again(house):
    client = house.connect()
    client.hello()
    archive = io.BytesIO(random.Random(1).randbytes(3 << 20))
    house.kill()

    uri = client.upload_code(archive)

    assert client.upload_code(archive) == uri


def submit_while_killing(house, rounds, seed):
    """Submit with a server that is killed at random moments; return the ids told and listed."""
    chance = random.Random(seed)
    client = house.connect()
    told = []
    for number in range(rounds):
        killer = threading.Timer(chance.uniform(0, 0.02), house.kill)
        killer.start()
        told.append(client.submit({"dialect": "fake", "name": f"job-{number}"})["id"])
        killer.join()
    return told, [job["id"] for job in client.jobs(limit=500)["jobs"]]


def test_an_acknowledged_job_is_there_and_there_once(house):
    told, listed = submit_while_killing(house, rounds=6, seed=20)

    assert sorted(told) == sorted(listed)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_an_acknowledged_job_is_there_and_there_once_many_times(house):
    told, listed = submit_while_killing(house, rounds=300, seed=21)

    assert sorted(told) == sorted(listed)


def test_a_follower_does_not_notice_that_the_server_was_replaced(house, until):
    client = house.connect()
    job = client.submit(REQUEST)
    heard = []
    follower = threading.Thread(target=lambda: heard.extend(client.follow("mnist")))
    follower.start()
    house.say(job, "before\n")
    until(lambda: heard)

    bring_up(house.settings, "127.0.0.1", 0)
    house.say(job, "after\n")
    house.end(job)
    follower.join(60)

    assert [line.text for line in heard] == ["before", "after"]
    assert house.starts() == 2


@pytest.mark.parametrize("over_tcp", [False, True])
def test_what_is_too_large_is_refused_by_a_sentence_not_by_a_reset(house, monkeypatch, over_tcp):
    monkeypatch.setenv("DANLU_CODE_LIMIT", "1M")
    archive = io.BytesIO(random.Random(1).randbytes(20 << 20))
    client = house.connect()
    if over_tcp:
        up = bring_up(house.settings, "127.0.0.1", 0)
        client = connect(house.settings, server=up.url, token=up.token)

    with pytest.raises(Refused, match="bytes at most"):
        client.upload_code(archive)
