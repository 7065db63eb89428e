"""State shared by all routes: long polls, the idle timer and the service."""

import asyncio
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from danlu.settings import Settings

if TYPE_CHECKING:
    from danlu.service.service import Service


class Idle:
    """Timer that expires after ``limit`` seconds without an open request.

    The caller resets it with :meth:`used` while there are unfinished jobs.
    """

    def __init__(self, limit: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._open = 0
        self._last = clock()

    def enter(self) -> None:
        self._open += 1

    def leave(self) -> None:
        self._open -= 1
        self._last = self._clock()

    def expired(self) -> bool:
        return not self._open and self._clock() - self._last >= self._limit

    def used(self) -> None:
        """Restart the timer, for use of the server other than a request."""
        self._last = self._clock()


class Counting:
    """Middleware that reports the start and end of every request to :class:`Idle`."""

    def __init__(self, app: ASGIApp, idle: Idle) -> None:
        self.app = app
        self.idle = idle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.idle.enter()
        try:
            await self.app(scope, receive, send)
        finally:
            self.idle.leave()


T = TypeVar("T")

FIRST, MAX_PAUSE = 0.05, 0.5  # seconds between two calls of the same poll
NEWS_FIRST, NEWS_MAX = 0.01, 0.05  # the same after a change was reported
RATE = 100  # calls per second, all polls together
THREADS = 4


class Polls:
    """Long polls: requests that wait for a change share one poll per ``key``."""

    def __init__(self) -> None:
        self._polls: dict[Hashable, _Poll] = {}
        self._turn = asyncio.Semaphore(THREADS)
        self._news = asyncio.Event()
        self._closed = False

    def close(self) -> None:
        """End all polls; each waiting request receives the current value."""
        self._closed = True
        self.look()

    def look(self) -> None:
        """Report a change, so that polls check now instead of at their next interval."""
        self._news.set()
        self._news = asyncio.Event()

    def __len__(self) -> int:
        """Return the number of active polls."""
        return len(self._polls)

    async def until(
        self, key: Hashable, ask: Callable[[], T], ready: Callable[[T, T], bool], timeout: float
    ) -> T:
        """Call ``ask`` until ``ready(first value, value)`` is true, and return that value.

        After ``timeout`` seconds, return the latest value. Calls with an equal ``key`` share one
        poll, so their ``ask`` and ``ready`` must be equivalent.
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
                pause = min(pause * 1.25, MAX_PAUSE)
                news = self._news
                poll.answer = await self._ask(ask)
        except Exception as error:
            poll.error = error  # raised by each waiter in until()
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
    """Sleep for ``turn`` seconds or ``seconds``, whichever is longer.

    A reported change ends the sleep early, but not before a minimum time.
    """
    least = min(max(turn, NEWS_FIRST), NEWS_MAX)  # limits the rate when changes are frequent
    await asyncio.sleep(least)
    try:
        await asyncio.wait_for(news.wait(), max(turn, seconds) - least)
    except TimeoutError:
        return


class _Poll:
    def __init__(self) -> None:
        self.task: asyncio.Task[None]
        self.asked = asyncio.Event()
        self.answer: Any = None
        self.error: Exception | None = None
        self.waiters = 0


@dataclass
class Context:
    """State of one running server. The server process sets ``shutdown`` and ``url``."""

    service: "Service"
    settings: Settings
    polls: Polls
    idle: Idle
    shutdown: Callable[[], None] = lambda: None
    url: str = ""
    started: float = field(default_factory=time.time)


async def _context(request: Request) -> Context:  # FastAPI runs a plain function in a thread
    context: Context = request.app.state.context
    return context


Ours = Annotated[Context, Depends(_context)]
