"""Listening sockets of a server: a socket file private to its user, and optionally TCP."""

import asyncio
import os
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from danlu.errors import Refused

BACKLOG = 512


@dataclass(frozen=True)
class TcpAddress:
    """A TCP address; ``host`` has no brackets."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of this address as seen from this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> TcpAddress:
    """Parse HOST:PORT.

    Raises:
        Refused: ``text`` is not HOST:PORT.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65_535:
        raise Refused.from_key("server.bad_tcp", text=text)
    return TcpAddress(host.removeprefix("[").removesuffix("]"), int(port))


def url_for_others(bound: str) -> str:
    """Return the URL of a bound HOST:PORT for other machines; "" if ``bound`` is empty."""
    if not bound:
        return ""
    address = parse_address(bound)
    if address.host in ("0.0.0.0", "::"):
        return TcpAddress(socket.gethostname(), address.port).url
    return address.url


def open_unix(path: Path) -> socket.socket:
    """Listen on a socket file of mode 0600.

    The caller holds the lock of the home, so an existing file was left by a server that has
    exited.
    """
    private_folder(path.parent)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)  # the file has mode 0600 from its creation on
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    return listener


def private_folder(folder: Path) -> None:
    """Create the folder of the sockets with mode 0700.

    Raises:
        Refused: it is not a directory, or another user owns it and could replace its files.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Refused.from_key("server.foreign_folder", folder=folder, st_uid=found.st_uid)
    if stat.S_IMODE(found.st_mode) != 0o700:
        os.chmod(folder, 0o700)


def open_tcp(address: TcpAddress) -> tuple[socket.socket, TcpAddress]:
    """Listen on TCP; the returned address has the actual port if port 0 was requested.

    Raises:
        Refused: the port is in use, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Refused.from_key(
            "server.cannot_listen", address=address, v=error.strerror or error
        ) from None
    return listener, TcpAddress(address.host, listener.getsockname()[1])


HEAD_TIMEOUT = 15.0  # seconds to send a request head, from the connection or its first byte
READER_TIMEOUT = 30.0  # seconds a client may not read while the write buffer is full
MAX_UNKNOWN = 200  # maximum TCP connections that have not sent the token


class Connection(H11Protocol):
    """An HTTP connection with time limits and a limit on unauthenticated connections."""

    _waiting: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    _is_unknown = False
    _since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        # Unix socket connections are trusted. Only this method has the socket itself.
        local = transport.get_extra_info("socket").family == socket.AF_UNIX
        self.app_state = {**self.app_state, "local": local}
        self._since = self.loop.time()
        self._await_head()
        if not local:
            self._is_unknown = True
            self._close_idle()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:  # uvicorn's timer stops at the first byte of a head
            self._await_head()

    def handle_events(self) -> None:
        super().handle_events()
        if self.conn.their_state is not h11.IDLE and self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def on_response_complete(self) -> None:
        if self.scope["state"].get("known"):
            self._is_unknown = False
        super().on_response_complete()

    def _await_head(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEAD_TIMEOUT, self.transport.abort)

    def _close_idle(self) -> None:
        unknown = [
            each for each in self.connections if isinstance(each, Connection) and each.is_unknown
        ]
        if len(unknown) > MAX_UNKNOWN:
            oldest = min(unknown, key=lambda each: each._since)
            # abort() closes the connection later. Until then more connections may be accepted, and
            # this one must not be counted again.
            self.connections.discard(oldest)
            oldest.transport.abort()

    @property
    def is_unknown(self) -> bool:
        """True for a TCP connection that has not sent the token in this or an earlier request."""
        return self._is_unknown and not (self.scope and self.scope["state"].get("known"))

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(READER_TIMEOUT, self.transport.abort)

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
