"""When a background server nobody uses may leave."""

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class Idle:
    """Counts requests. ``limit`` seconds without one, and without a living job, are enough."""

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
        """Count from now: something else than a request keeps the server."""
        self._last = self._clock()


class Counting:
    """Tells :class:`Idle` of every request."""

    def __init__(self, app: ASGIApp, idle: Idle) -> None:
        self.app = app
        self.idle = idle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.idle.enter()
        try:
            await self.app(scope, receive, send)
        finally:
            self.idle.leave()
