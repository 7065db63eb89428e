"""HTTP over a unix socket or TCP, with the standard library alone.

One exchange: a request goes out, an answer comes back whole. Whether to try again is for the
caller to say.
"""

import json
import os
import socket
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from danlu.client.errors import error_of
from danlu.client.plain_http import PlainConnection
from danlu.errors import NotAllowed, PlatformError, Refused

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

    from danlu.client.plain_http import Response

    Connection = HTTPConnection | PlainConnection

CONNECT_PATIENCE = 10.0


class Unreachable(Exception):
    """No answer: nobody listens, or the connection broke. The request may have been done."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """Raises: PlatformError when it is none: something else answers at that address."""
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise PlatformError("What answers there is not a Danlu server.")
        return value


class Target(NamedTuple):
    """Where a server is: a socket file, or a URL with its token."""

    path: str = ""
    url: str = ""
    token: str = ""

    def __str__(self) -> str:
        return self.url or self.path

    def __repr__(self) -> str:
        return f"Target({self})"

    def open(self, timeout: float) -> "Connection":
        if self.path:
            return _over_unix(self.path, timeout)
        return _over_tcp(self.url, timeout)


class Wire:
    """Connections to one target, one for each thread that uses it, kept open between requests."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._own = threading.local()

    def exchange(
        self,
        method: str,
        path: str,
        *,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
    ) -> Answer:
        """Send a request and return what came back.

        Raises:
            Unreachable: no answer.
            DanluError: the server's own answer, when it is an error.
        """
        connection = self._connection(timeout)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            sending = {**(headers or {}), **_bearer(self.target.token)}
            _send(connection, method, path, body, sending)
            answer = _read(connection.getresponse())
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME:
                raise Refused(f"There is no host of the name in {self.target}.") from None
            raise Unreachable(str(error)) from error
        except _broken(connection) as error:
            self.close()
            raise Unreachable(f"{type(error).__name__}: {error}") from error
        if answer.status >= 400:
            raise _error(answer)
        return answer

    def close(self) -> None:
        """Close this thread's connection; the next exchange opens another."""
        self._own.kept = None

    def _connection(self, timeout: float) -> "Connection":
        kept: _Kept | None = getattr(self._own, "kept", None)
        if kept is None:
            kept = self._own.kept = _Kept(self.target.open(timeout))
        return kept.connection


class _Kept:
    """Closes its connection when nobody has it any more: the client forgotten, the thread over."""

    def __init__(self, connection: "Connection") -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()


def _send(
    connection: "Connection",
    method: str,
    path: str,
    body: bytes | BinaryIO | None,
    headers: dict[str, str],
) -> None:
    try:
        connection.request(method, path, body=body, headers=headers)
    except (BrokenPipeError, ConnectionResetError):
        # A server that refuses a large body answers before it has read it all.
        if connection.sock is None or body is None:
            raise


def _broken(connection: "Connection") -> tuple[type[Exception], ...]:
    """Return what is raised where an answer does not come, or is none."""
    if isinstance(connection, PlainConnection):
        return (OSError,)
    from http.client import HTTPException

    return (OSError, HTTPException)


def _read(response: "HTTPResponse | Response") -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def _error(answer: Answer) -> Exception:
    try:
        return error_of(answer.status, answer.json())
    except PlatformError:
        return error_of(answer.status, {})


def _bearer(token: str) -> dict[str, str]:
    if not (token.isascii() and token.isprintable()):
        raise NotAllowed("The token holds characters that no token has.")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _over_unix(path: str, timeout: float) -> PlainConnection:
    def connect() -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(CONNECT_PATIENCE)
        try:
            connected.connect(path)
            _check_peer(connected, path)
        except BaseException:
            connected.close()
            raise
        connected.settimeout(timeout)
        return connected

    return PlainConnection(connect)


def _check_peer(connected: socket.socket, path: str) -> None:
    """Secrets go over this socket: whoever listens must be this very user."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return
    credentials = connected.getsockopt(socket.SOL_SOCKET, option, 12)
    owner = int.from_bytes(credentials[4:8], "little")
    if owner != os.geteuid():
        raise NotAllowed(
            f"The server at {path} belongs to another user (uid {owner}).",
            hint="Set DANLU_HOME and XDG_RUNTIME_DIR to directories of your own.",
        )


def _over_tcp(url: str, timeout: float) -> "HTTPConnection":
    import http.client
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise Refused(
            f"Got {url!r} for server.", hint="It takes a URL such as http://127.0.0.1:9420"
        )
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, port, timeout=timeout)
    return http.client.HTTPConnection(parts.hostname, port, timeout=timeout)
