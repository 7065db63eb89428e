"""Waiting for something to happen, for any number of followers, without a thread for each.

Followers that ask the same question share one poll. The service is asked in a thread, only when
it is due, and the more questions there are the longer each waits for its turn: the load stays
below a fixed number of questions per second.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

FIRST, LONGEST = 0.05, 0.5  # seconds between two looks at the same thing
NEWS_FIRST, NEWS_LONGEST = 0.01, 0.05  # the same when there are news
RATE = 100  # looks per second, all questions together
THREADS = 4


class Polls:
    def __init__(self) -> None:
        self._polls: dict[Hashable, _Poll] = {}
        self._turn = asyncio.Semaphore(THREADS)
        self._news = asyncio.Event()
        self._closed = False

    def close(self) -> None:
        """End all waiting: everybody is told what is known now."""
        self._closed = True
        self.look()

    def look(self) -> None:
        """Something has changed: look now, not at the next turn."""
        self._news.set()
        self._news = asyncio.Event()

    def __len__(self) -> int:
        """The number of different questions being waited on."""
        return len(self._polls)

    async def until(
        self, key: Hashable, ask: Callable[[], T], ready: Callable[[T, T], bool], timeout: float
    ) -> T:
        """Return the first answer for which ``ready(first answer, answer)``, or the last in time.

        Two calls with an equal ``key`` must ask the same question.
        """
        if timeout <= 0 or self._closed:
            async with self._turn:
                return await asyncio.to_thread(ask)
        poll = self._polls.get(key)
        if poll is None:
            poll = self._polls[key] = _Poll()
            poll.task = asyncio.create_task(self._run(key, poll, ask, ready))
        poll.waiters += 1
        try:
            await poll.asked.wait()
            await asyncio.wait({poll.task}, timeout=timeout)
        finally:
            poll.waiters -= 1
            if not poll.waiters and not poll.task.done():
                self._forget(key, poll)
                poll.task.cancel()
        if poll.error is not None:
            raise poll.error
        answer: T = poll.answer
        return answer

    async def _run(
        self, key: Hashable, poll: "_Poll", ask: Callable[[], T], ready: Callable[[T, T], bool]
    ) -> None:
        pause = FIRST
        try:
            news = self._news
            first = poll.answer = await self._ask(ask)
            while not ready(first, poll.answer) and not self._closed:
                poll.asked.set()
                await _pause(news, len(self._polls) / RATE, pause)
                pause = min(pause * 1.25, LONGEST)
                news = self._news
                poll.answer = await self._ask(ask)
        except Exception as error:
            poll.error = error  # every waiter's own to raise
        finally:
            self._forget(key, poll)
            poll.asked.set()

    async def _ask(self, ask: Callable[[], T]) -> T:
        async with self._turn:
            return await asyncio.to_thread(ask)

    def _forget(self, key: Hashable, poll: "_Poll") -> None:
        if self._polls.get(key) is poll:
            del self._polls[key]


async def _pause(news: asyncio.Event, turn: float, seconds: float) -> None:
    """Return when it is our turn and the seconds are over; news make both shorter."""
    least = min(max(turn, NEWS_FIRST), NEWS_LONGEST)  # a flood of news is looked at only so often
    await asyncio.sleep(least)
    try:
        await asyncio.wait_for(news.wait(), max(turn, seconds) - least)
    except asyncio.TimeoutError:
        return


class _Poll:
    def __init__(self) -> None:
        self.task: asyncio.Task[None]
        self.asked = asyncio.Event()
        self.answer: Any = None
        self.error: Exception | None = None
        self.waiters = 0
