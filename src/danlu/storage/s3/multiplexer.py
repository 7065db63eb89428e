"""Many concurrent small requests in one thread.

One thread per request would cost more than the requests. All incoming data wakes a thread, and
Python runs only one at a time. Here one thread polls all connections.
"""

import os
import select
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from danlu.settings import Endpoint
from danlu.storage.api import etag_in
from danlu.storage.s3.http import Timeouts, tls

if TYPE_CHECKING:
    import ssl


READ, WRITE = select.POLLIN, select.POLLOUT
_FIRST = 1 << 17  # initial bytes of a buffer; larger objects get a larger one
_MAX_HEAD = 1 << 16
MAX_BODY = 16 << 20  # twice the largest object that is read in one request
_END = b"\r\n\r\n"


class UnsupportedResponse(Exception):
    """The response is not plain HTTP/1.1. Repeat the request through ``s3.http``."""


@dataclass(frozen=True)
class Reply:
    """A response. ``body`` is valid until the next request on the same connection."""

    status: int
    headers: Mapping[str, str]
    body: memoryview

    @property
    def etag(self) -> str:
        return etag_in(self.headers)


class S3Connection:
    """A non-blocking HTTP connection over a socket that is connected or connecting.

    It uses TLS if there is a ``context``.
    """

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
        self._answer: tuple[int, dict[str, str], int, int] | None = None  # body: start, end
        self.active = 0.0  # monotonic time of the last activity
        self.wants = WRITE

    def begin(self, *request: bytes) -> None:
        """Start to send a request. The previous reply becomes invalid.

        Raises UnsupportedResponse, as :meth:`advance`.
        """
        self._unsent = [memoryview(part) for part in request if part]
        self._filled, self._answer = 0, None
        self.active = time.monotonic()
        if self._shaken and self.connected:
            self._advance(answer=False)

    def advance(self) -> Reply | None:
        """Send and receive without blocking. Return the response when it is complete.

        Raises:
            UnsupportedResponse: there is no plain response. The connection must be closed.
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
            self._socket.do_handshake()  # type: ignore[attr-defined]  # an SSLSocket
            self._shaken = True

    def _receive(self) -> Reply | None:
        pending = True
        while pending:
            free = memoryview(self._buffer)[self._filled :]
            count = self._socket.recv_into(free)
            free.release()
            if not count:
                raise UnsupportedResponse("cut off")
            self._filled += count
            self.active = time.monotonic()
            if self._answer is None:
                self._read_head()
            if self._answer is not None and self._filled >= self._answer[3]:
                return self._reply(*self._answer)
            # With a context it is an SSLSocket, which may have decrypted more than was read.
            pending = self._context is not None and self._socket.pending() > 0  # type: ignore[attr-defined]
        return None

    def _read_head(self) -> None:
        end = self._buffer.find(_END, 0, self._filled)
        if end < 0:
            if self._filled > _MAX_HEAD:
                raise UnsupportedResponse("a head without end")
            return
        status, headers = _head(self._buffer[:end].decode("latin-1"))
        begin = end + len(_END)
        whole = begin + int(headers["content-length"])
        if whole - begin > MAX_BODY:
            # A buffer of the declared size is allocated below.
            raise UnsupportedResponse("a body without end")
        if len(self._buffer) < whole:
            # Use a new buffer, because the last reply may still be in use.
            self._buffer = self._buffer[: self._filled] + bytes(whole - self._filled)
        self._answer = status, headers, begin, whole

    def _reply(self, status: int, headers: dict[str, str], begin: int, end: int) -> Reply:
        if self._filled > end:
            raise UnsupportedResponse("more than its Content-Length")
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
        raise UnsupportedResponse(first)
    return int(rest[:3]), headers


def _wanted(error: OSError) -> int:
    """Return the event that TLS waits for. Raise UnsupportedResponse for any other error."""
    name = type(error).__name__
    if name == "SSLWantReadError":
        return READ
    if name == "SSLWantWriteError":
        return WRITE
    raise UnsupportedResponse(name) from error


T = TypeVar("T")

_FAILURES = 3  # consecutive failures after which no further request is sent
_CHECK_INTERVAL = 1.0  # seconds between two checks for timed-out connections


class S3Multiplexer:
    """Connections to a service for one thread. It does not retry and does not raise S3Error."""

    def __init__(self, endpoint: Endpoint, url: str, timeouts: Timeouts, most: int) -> None:
        self._endpoint = endpoint
        self._url = urlsplit(url)
        self._timeouts = timeouts
        self._most = most
        self._poll = select.poll()
        self._free: list[S3Connection] = []
        self._busy: dict[int, S3Connection] = {}
        self._failures = 0
        self._looked = time.monotonic()
        self._where: tuple[int, tuple[str, int]] | None = None
        self._context = tls(endpoint) if self._url.scheme == "https" else None

    def __enter__(self) -> "S3Multiplexer":
        return self

    def __exit__(self, *_: object) -> None:
        for lane in [*self._free, *self._busy.values()]:
            lane.close()
        self._free, self._busy = [], {}

    def exchange(
        self, requests: Iterable[tuple[T, tuple[bytes, ...]]]
    ) -> Iterator[tuple[T, Reply | None]]:
        """Send all requests, and yield the item of each with its reply, as they arrive.

        None: there is no plain response. A reply is valid until the next one is requested.
        """
        more = iter(requests)
        asked: dict[int, T] = {}
        while True:
            while len(self._busy) < self._most and (following := next(more, None)) is not None:
                item, request = following
                number = self._begin(request)
                if number is None:
                    yield item, None
                else:
                    asked[number] = item
            if not asked:
                return
            for number, reply in self._answers():
                yield asked.pop(number), reply
                if reply is not None:
                    self._end(number, reply)

    def _begin(self, request: tuple[bytes, ...]) -> int | None:
        """Start a request. Return the number of its connection, or None if there is none."""
        if self._failures >= _FAILURES:
            return None
        try:
            lane = self._free.pop() if self._free else self._new()
            lane.begin(*request)
        except (OSError, UnsupportedResponse):
            self._failures += 1
            return None
        self._busy[lane.number] = lane
        self._poll.register(lane.number, lane.wants)
        return lane.number

    def _new(self) -> S3Connection:
        host = self._url.hostname or ""
        if self._where is None:
            port = self._url.port or (443 if self._context else 80)
            first = socket.create_connection((host, port), self._timeouts.connect)
            # create_connection() has found a working address. Further connections use it.
            self._where = first.family, first.getpeername()
            return S3Connection(first, self._context, host)
        family, address = self._where
        further = socket.socket(family, socket.SOCK_STREAM)
        further.setblocking(False)
        further.connect_ex(address)
        return S3Connection(further, self._context, host)

    def _answers(self) -> Iterator[tuple[int, Reply | None]]:
        """Poll once, and yield connection numbers with their replies, or None on failure."""
        for number, _ in self._poll.poll(_CHECK_INTERVAL * 1000):
            lane = self._busy[number]
            wanted = lane.wants
            try:
                reply = lane.advance()
            except UnsupportedResponse:
                self._drop(lane)
                yield number, None
                continue
            if reply is not None:
                self._failures = 0
                yield number, reply
            elif lane.wants != wanted:
                self._poll.modify(number, lane.wants)
        yield from ((lane.number, None) for lane in self._silent())

    def _silent(self) -> list[S3Connection]:
        """Close the connections that have timed out, and return them."""
        now = time.monotonic()
        if now - self._looked < _CHECK_INTERVAL:
            return []
        self._looked = now
        connect, silence = self._timeouts.connect, self._timeouts.silence
        busy = self._busy.values()
        late = [one for one in busy if now - one.active > (silence if one.connected else connect)]
        for lane in late:
            self._drop(lane)
        return late

    def _end(self, number: int, reply: Reply) -> None:
        """Release the connection of a reply for the next request, or close it."""
        lane = self._busy.pop(number)
        self._poll.unregister(number)
        if reply.headers.get("connection", "").lower() == "close":
            lane.close()
        else:
            self._free.append(lane)

    def _drop(self, lane: S3Connection) -> None:
        self._failures += 1
        del self._busy[lane.number]
        self._poll.unregister(lane.number)
        lane.close()
