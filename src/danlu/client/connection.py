"""HTTP client connections over a unix socket or TCP, using only the standard library.

Each exchange sends one request and reads the complete response. Retries are up to the caller.
"""

import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from danlu.errors import (
    Conflict,
    DanluError,
    ExecutorError,
    InvalidJob,
    NoCapacity,
    NotAllowed,
    NotFound,
    OnlyCopy,
    OnOtherServer,
    PlatformError,
    Refused,
    StorageError,
    Unavailable,
    Unsupported,
    UserError,
)
from danlu.messages import get_message, language

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse


_MAX_LINE = 65_536
_BLOCK = 65_536


class Response:
    """An HTTP response with its complete body."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self._headers = headers
        self._body = body

    def getheaders(self) -> list[tuple[str, str]]:
        return self._headers

    def read(self) -> bytes:
        return self._body


class PlainConnection:
    """An HTTP/1.1 connection with the part of the ``HTTPConnection`` interface used here.

    It is opened by the first request, and again after a response with ``Connection: close``.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self.sock: socket.socket | None = None
        self._connect = connect
        self._reader: BinaryIO | None = None
        self._method = ""

    def request(
        self,
        method: str,
        url: str,
        body: bytes | BinaryIO | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a request, connecting first if there is no connection.

        Raises:
            OSError: the connection failed.
            ValueError: a header or the URL contains a line break or a NUL.
        """
        if self.sock is None:
            self.sock = self._connect()
            self._reader = self.sock.makefile("rb")
        self._method = method
        given = {"Host": "localhost", "Accept-Encoding": "identity", **(headers or {})}
        if isinstance(body, bytes) or (body is None and method in ("POST", "PUT")):
            given["Content-Length"] = str(len(body or b""))
        lines = [f"{method} {url} HTTP/1.1", *(f"{name}: {text}" for name, text in given.items())]
        if any(mark in line for line in lines for mark in "\r\n\0"):
            raise ValueError("a line of a request holds the end of one")
        head = "\r\n".join([*lines, "", ""]).encode("latin-1")
        if body is None or isinstance(body, bytes):
            self.sock.sendall(head + (body or b""))
            return
        self.sock.sendall(head)
        while block := body.read(_BLOCK):
            self.sock.sendall(block)

    def getresponse(self) -> Response:
        """Read the response of the last request.

        Raises:
            OSError: the connection failed, or the response is not valid HTTP.
        """
        status, headers = self._head()
        while status == 100:  # 100 Continue; this client never requests it
            status, headers = self._head()
        fields = {name.lower(): text for name, text in headers}
        body = b"" if self._method == "HEAD" or status in (204, 304) else self._body(fields)
        if fields.get("connection", "").lower() == "close":
            self.close()
        return Response(status, headers, body)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        if self.sock is not None:
            self.sock.close()
        self.sock = self._reader = None

    def _head(self) -> tuple[int, list[tuple[str, str]]]:
        version, _, rest = self._line().partition(" ")
        if not version.startswith("HTTP/1.") or not rest[:3].isdecimal():
            raise ConnectionError(get_message("client.not_http"))
        headers = []
        while line := self._line():
            name, _, text = line.partition(":")
            headers.append((name.strip(), text.strip()))
        return int(rest[:3]), headers

    def _body(self, fields: Mapping[str, str]) -> bytes:
        if fields.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        length = fields.get("content-length", "")
        if not length.isdecimal():
            raise ConnectionError(get_message("client.no_length"))
        return self._exactly(int(length))

    def _chunks(self) -> bytes:
        pieces = []
        while size := self._size():
            pieces.append(self._exactly(size))
            self._line()
        while self._line():
            pass  # trailers
        return b"".join(pieces)

    def _size(self) -> int:
        try:
            return int(self._line().partition(";")[0], 16)
        except ValueError:
            raise ConnectionError(get_message("client.no_chunk_length")) from None

    def _exactly(self, size: int) -> bytes:
        assert self._reader is not None
        data = self._reader.read(size)
        if len(data) < size:
            raise ConnectionResetError(get_message("client.cut_off"))
        return data

    def _line(self) -> str:
        assert self._reader is not None
        line = self._reader.readline(_MAX_LINE)
        if not line.endswith(b"\n"):
            raise ConnectionResetError(get_message("client.no_or_cut_off"))
        return line.rstrip(b"\r\n").decode("latin-1")


if TYPE_CHECKING:
    Connection = HTTPConnection | PlainConnection


_BY_CODE: Mapping[str, type[DanluError]] = {
    kind.code: kind
    for kind in (
        Conflict,
        OnOtherServer,
        ExecutorError,
        NoCapacity,
        NotAllowed,
        NotFound,
        OnlyCopy,
        PlatformError,
        Refused,
        StorageError,
        Unavailable,
        Unsupported,
        UserError,
    )
}

_BY_STATUS: Mapping[int, type[DanluError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    502: Unavailable,
    503: Unavailable,
    504: Unavailable,
}


def error_of(status: int, body: Mapping[str, Any]) -> DanluError:
    """Return the exception for an error response.

    The class is chosen by the error code, or by the HTTP status if the code is unknown here (for
    example one of a later version).
    """
    wire = body.get("error")
    if not isinstance(wire, Mapping) or not isinstance(wire.get("message"), str):
        return _plain(_by_status(status), get_message("client.http_status", status=status), "")
    if wire.get("code") == InvalidJob.code and wire.get("faults"):
        return InvalidJob([(fault["field"], fault["message"]) for fault in wire["faults"]])
    kind = _BY_CODE.get(str(wire.get("code")), _by_status(status))
    return _plain(kind, wire["message"], str(wire.get("hint") or ""))


def _by_status(status: int) -> type[DanluError]:
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return Refused if 400 <= status < 500 else PlatformError


def _plain(kind: type[DanluError], message: str, hint: str) -> DanluError:
    error = kind.__new__(kind)  # NotFound.__init__ would build its own message
    DanluError.__init__(error, message, hint=hint)
    return error


CONNECT_TIMEOUT = 10.0


class NoResponse(Exception):
    """Raised when no response was received.

    No server listens, or the connection broke. The server may have executed the request.
    """


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """Return the body parsed as a JSON object.

        Raises:
            PlatformError: the body is not a JSON object, so the peer is not a Danlu server.
        """
        try:
            value = json.loads(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise PlatformError.from_key("client.not_danlu")
        return value


class Target(NamedTuple):
    """The address of a server: a socket file, or a URL with its token."""

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
    """Connections to one target, one per thread, kept open between requests."""

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
        """Send a request and return the response.

        Raises:
            Unreachable: no response was received.
            DanluError: the server returned an error response, or it cannot be used (unknown host,
                invalid URL or token, a socket of another user).
        """
        connection = self._connection(timeout)
        try:
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            asked = {"Accept-Language": language(), **(headers or {})}
            sending = {**asked, **_bearer(self.target.token)}
            _send(connection, method, path, body, sending)
            answer = _read(connection.getresponse())
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME:
                raise Refused.from_key("client.no_host", target=self.target) from None
            raise NoResponse(str(error)) from error
        except _broken(connection) as error:
            self.close()
            raise NoResponse(f"{type(error).__name__}: {error}") from error
        if answer.status >= 400:
            raise _error(answer)
        return answer

    def close(self) -> None:
        """Close this thread's connection; the next exchange opens another."""
        self._own.kept = None

    def _connection(self, timeout: float) -> "Connection":
        kept: _OwnedConnection | None = getattr(self._own, "kept", None)
        if kept is None:
            kept = self._own.kept = _OwnedConnection(self.target.open(timeout))
        return kept.connection


class _OwnedConnection:
    """A connection that is closed when its last reference is dropped.

    This happens when the client is garbage-collected or the thread ends.
    """

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
        # A server that refuses a large body responds before it has read all of it.
        if connection.sock is None or body is None:
            raise


def _broken(connection: "Connection") -> tuple[type[Exception], ...]:
    """Return the exceptions that mean a missing or invalid response on this connection."""
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
        raise NotAllowed.from_key("client.token_characters")
    return {"Authorization": f"Bearer {token}"} if token else {}


def _over_unix(path: str, timeout: float) -> PlainConnection:
    def connect() -> socket.socket:
        connected = socket.socket(socket.AF_UNIX)
        connected.settimeout(CONNECT_TIMEOUT)
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
    """Raise NotAllowed unless the listening process belongs to the current user.

    Secrets are sent over this socket. Does nothing where SO_PEERCRED is not available.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return
    credentials = connected.getsockopt(socket.SOL_SOCKET, option, 12)
    owner = int.from_bytes(credentials[4:8], "little")
    if owner != os.geteuid():
        raise NotAllowed.from_key("client.other_user", path=path, owner=owner)


def _over_tcp(url: str, timeout: float) -> "HTTPConnection":
    import http.client
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise Refused.from_key("client.bad_url", url=url)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, port, timeout=timeout)
    return http.client.HTTPConnection(parts.hostname, port, timeout=timeout)
