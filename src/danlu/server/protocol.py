"""One connection: which door it came through, and how long it may take.

uvicorn 0.54 has no clock on a request that never comes and none on a reader that stops reading:
both would hold memory and a connection for ever.
"""

import asyncio
import socket
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_PATIENCE = 15.0  # seconds until a new connection must have sent a request's head
READER_PATIENCE = 30.0  # seconds a reader may stand still with our buffer full


class Connection(H11Protocol):
    _waiting: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        # Only a unix socket is trusted, and only here is it known for sure.
        local = transport.get_extra_info("socket").family == socket.AF_UNIX
        self.app_state = {**self.app_state, "local": local}
        self._waiting = self.loop.call_later(HEAD_PATIENCE, self.transport.abort)

    def handle_events(self) -> None:
        super().handle_events()
        if self.scope is not None and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(READER_PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reads_again()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._reads_again()
        if self._waiting is not None:
            self._waiting.cancel()

    def _reads_again(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
