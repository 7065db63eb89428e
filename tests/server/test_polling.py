import asyncio
import threading

import pytest

from danlu.errors import NotFound
from danlu.server.context import Polls


class Counter:
    """Answers with a number that a test moves on."""

    def __init__(self):
        self.value = 0
        self.asked = 0
        self.threads = set()

    def __call__(self):
        self.asked += 1
        self.threads.add(threading.get_ident())
        return self.value


def grown(first, now):
    return now > first


async def waiting(polls, count):
    """Return when so many questions are being waited on."""
    while len(polls) != count:
        await asyncio.sleep(0.005)


def test_followers_of_one_job_share_one_request():
    async def scene():
        polls, counter = Polls(), Counter()
        followers = [
            asyncio.create_task(polls.until("same", counter, grown, 30)) for _ in range(200)
        ]
        await waiting(polls, 1)
        while counter.asked < 3:
            await asyncio.sleep(0.005)
        asked, counter.value = counter.asked, 1
        answers = await asyncio.gather(*followers)
        return answers, asked, len(counter.threads), len(polls)

    answers, asked, threads, left = asyncio.run(scene())

    assert answers == [1] * 200
    assert asked == 3
    assert threads <= 6
    assert left == 0


def test_followers_of_many_jobs_share_few_threads():
    async def scene():
        polls, counters = Polls(), [Counter() for _ in range(200)]
        followers = [
            asyncio.create_task(polls.until(n, counter, grown, 60))
            for n, counter in enumerate(counters)
        ]
        await waiting(polls, 200)
        while not all(counter.asked for counter in counters):
            await asyncio.sleep(0.005)
        for counter in counters:
            counter.value = 1
        polls.look()
        answers = await asyncio.gather(*followers)
        return answers, set().union(*(counter.threads for counter in counters))

    answers, threads = asyncio.run(scene())

    assert answers == [1] * 200
    assert len(threads) <= 6


def test_news_end_a_wait_that_would_be_long():
    async def scene():
        polls, counter = Polls(), Counter()
        follower = asyncio.create_task(polls.until("k", counter, grown, 60))
        await waiting(polls, 1)
        counter.value = 1
        polls.look()
        return await follower

    assert asyncio.run(scene()) == 1


def test_time_given_ends_wait_with_what_is_known():
    assert asyncio.run(Polls().until("k", Counter(), grown, 0.05)) == 0


def test_no_time_asks_just_once():
    counter = Counter()

    assert asyncio.run(Polls().until("k", counter, grown, 0)) == 0
    assert counter.asked == 1


def test_an_error_reaches_every_follower():
    def gone():
        raise NotFound("job", "x")

    async def scene():
        polls = Polls()
        waits = [polls.until("k", gone, grown, 30) for _ in range(3)]
        return await asyncio.gather(*waits, return_exceptions=True), len(polls)

    errors, left = asyncio.run(scene())

    assert [type(error) for error in errors] == [NotFound] * 3
    assert left == 0


def test_close_answers_all_waiting_clients():
    async def scene():
        polls, counter = Polls(), Counter()
        follower = asyncio.create_task(polls.until("k", counter, grown, 60))
        await waiting(polls, 1)
        polls.close()
        return await follower

    assert asyncio.run(scene()) == 0


def test_disconnected_follower_does_not_end_other_waits():
    async def scene():
        polls, counter = Polls(), Counter()
        leaves = asyncio.create_task(polls.until("k", counter, grown, 60))
        stays = asyncio.create_task(polls.until("k", counter, grown, 60))
        await waiting(polls, 1)
        leaves.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaves
        counter.value = 1
        return await stays, len(polls)

    assert asyncio.run(scene()) == (1, 0)


def test_polling_stops_without_waiting_clients():
    async def scene():
        polls, counter = Polls(), Counter()
        leaves = asyncio.create_task(polls.until("k", counter, grown, 60))
        await waiting(polls, 1)
        leaves.cancel()
        await waiting(polls, 0)

    asyncio.run(scene())
