"""One connection that never waits: a request goes out, and a plain answer comes back.

Plain: HTTP/1.1, its length told, nothing encoded. That is how services send objects and listings;
for whatever else comes there is ``s3_wire``, which knows all of HTTP.
"""

import os
import select
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from danlu.storage.etags import etag_in

if TYPE_CHECKING:
    import ssl

READ, WRITE = select.POLLIN, select.POLLOUT
_FIRST = 1 << 17  # bytes of a buffer; larger objects get a larger one
_LONGEST_HEAD = 1 << 16
LONGEST_BODY = 16 << 20  # twice the largest object that is had in one request
_END = b"\r\n\r\n"


class Odd(Exception):
    """No plain answer came: who wants one asks in the ordinary way."""


@dataclass(frozen=True)
class Reply:
    """``body`` is good until the next request on the same lane."""

    status: int
    headers: Mapping[str, str]
    body: memoryview

    @property
    def etag(self) -> str:
        return etag_in(self.headers)


class Lane:
    """Over a socket that is connected or will be; with TLS where there is a ``context``."""

    def __init__(
        self, connection: socket.socket, context: "ssl.SSLContext | None", host: str
    ) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connection
        self._context = context
        self._host = host
        self.number = connection.fileno()
        self.connected = False
        self._shaken = context is None
        self._buffer = bytearray(_FIRST)
        self._unsent: list[memoryview] = []
        self._filled = 0
        self._answer: tuple[int, dict[str, str], int, int] | None = None  # body: from, to
        self.active = 0.0  # when something last went over it
        self.wants = WRITE

    def begin(self, *request: bytes) -> None:
        """Send a request; the answer to the one before is not looked at any more.

        Raises: Odd, as :meth:`go_on` does.
        """
        self._unsent = [memoryview(part) for part in request if part]
        self._filled, self._answer = 0, None
        self.active = time.monotonic()
        if self._shaken and self.connected:
            self._advance(answer=False)

    def go_on(self) -> Reply | None:
        """Do what can be done now; return the answer when it is complete.

        Raises:
            Odd: none will come that is plain; the lane is of no use any more.
        """
        return self._advance(answer=True)

    def _advance(self, *, answer: bool) -> Reply | None:
        try:
            self._connect()
            self._send()
            self.wants = READ
            return self._receive() if answer else None
        except BlockingIOError:
            self.wants = WRITE if self._unsent else READ
        except OSError as error:
            self.wants = _wanted(error)
        return None

    def _send(self) -> None:
        while self._unsent:
            sent = self._socket.send(self._unsent[0])
            self._unsent[0] = self._unsent[0][sent:]
            if not self._unsent[0]:
                del self._unsent[0]

    def close(self) -> None:
        self._socket.close()

    def _connect(self) -> None:
        if not self.connected:
            if code := self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code))
            self.connected = True
            if self._context is not None:
                self._socket = self._context.wrap_socket(
                    self._socket, server_hostname=self._host, do_handshake_on_connect=False
                )
        if not self._shaken:
            self._socket.do_handshake()  # type: ignore[attr-defined]
            self._shaken = True

    def _receive(self) -> Reply | None:
        pending = True
        while pending:
            room = memoryview(self._buffer)[self._filled :]
            count = self._socket.recv_into(room)
            room.release()
            if not count:
                raise Odd("cut off")
            self._filled += count
            self.active = time.monotonic()
            if self._answer is None:
                self._read_head()
            if self._answer is not None and self._filled >= self._answer[3]:
                return self._reply(*self._answer)
            pending = self._context is not None and self._socket.pending() > 0  # type: ignore[attr-defined]
        return None

    def _read_head(self) -> None:
        end = self._buffer.find(_END, 0, self._filled)
        if end < 0:
            if self._filled > _LONGEST_HEAD:
                raise Odd("a head without end")
            return
        status, headers = _head(self._buffer[:end].decode("latin-1"))
        begin = end + len(_END)
        whole = begin + int(headers["content-length"])
        if whole - begin > LONGEST_BODY:
            raise Odd("a body without end")  # room is made by what a service says
        if len(self._buffer) < whole:
            # A new one: the last answer may still be looked at.
            self._buffer = self._buffer[: self._filled] + bytes(whole - self._filled)
        self._answer = status, headers, begin, whole

    def _reply(self, status: int, headers: dict[str, str], begin: int, end: int) -> Reply:
        if self._filled > end:
            raise Odd("more than was told")
        return Reply(status, headers, memoryview(self._buffer)[begin:end])


def _head(text: str) -> tuple[int, dict[str, str]]:
    first, *lines = text.split("\r\n")
    version, _, rest = first.partition(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = headers.get("content-length", "")
    known = length.isascii() and length.isdigit() and len(length) < 16
    plain = known and "transfer-encoding" not in headers and "content-encoding" not in headers
    if version != "HTTP/1.1" or not rest[:3].isdigit() or not plain:
        raise Odd(first)
    return int(rest[:3]), headers


def _wanted(error: OSError) -> int:
    """Return what TLS waits for. Raises Odd where the error is one."""
    name = type(error).__name__
    if name == "SSLWantReadError":
        return READ
    if name == "SSLWantWriteError":
        return WRITE
    raise Odd(name) from error
