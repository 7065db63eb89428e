"""One connection: which door it came through, and how long it may take.

uvicorn 0.54 has no clock on a request that never comes and none on a reader that stops reading:
both would hold memory and a connection for ever. And it counts connections whoever holds them: of
those that have not shown the token, the oldest gives way, so that there is room for who has it.
"""

import asyncio
import socket
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_PATIENCE = 15.0  # seconds for the head of a request, from the connection or its first byte
READER_PATIENCE = 30.0  # seconds a reader may stand still with our buffer full
STRANGERS = 200  # connections over TCP, at most, that have not shown the token


class Connection(H11Protocol):
    _waiting: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    _is_stranger = False
    _since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        # Only a unix socket is trusted, and only here is it known for sure.
        local = transport.get_extra_info("socket").family == socket.AF_UNIX
        self.app_state = {**self.app_state, "local": local}
        self._since = self.loop.time()
        self._await_head()
        if not local:
            self._is_stranger = True
            self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # a head has begun, and uvicorn's own clock stopped
            self._await_head()

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state is not h11.IDLE and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def on_response_complete(self) -> None:
        if self.scope["state"].get("known"):
            self._is_stranger = False
        super().on_response_complete()

    def _await_head(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_PATIENCE, self.transport.abort)

    def _make_room(self) -> None:
        strangers = [
            each for each in self.connections if isinstance(each, Connection) and each.is_stranger
        ]
        if len(strangers) > STRANGERS:
            oldest = min(strangers, key=lambda each: each._since)
            # Many may come before the loop gets to the end of this one: it counts no more.
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def is_stranger(self) -> bool:
        """Whether it came over TCP and neither this request nor one before it had the token."""
        return self._is_stranger and not (self.scope and self.scope["state"].get("known"))

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
