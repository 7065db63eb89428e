"""HTTP/1.1 as our own server speaks it over a unix socket.

``http.client`` reads whatever a server may send, and brings e-mail and TLS along for that: to load
it takes three times as long as to ask a question.
"""

import socket
from collections.abc import Callable, Mapping
from typing import BinaryIO

_LONGEST_LINE = 65_536
_BLOCK = 65_536


class Response:
    """An answer, read whole."""

    def __init__(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self._headers = headers
        self._body = body

    def getheaders(self) -> list[tuple[str, str]]:
        return self._headers

    def read(self) -> bytes:
        return self._body


class PlainConnection:
    """What we use of ``http.client.HTTPConnection``. Opened with the first request, and again
    after an answer that was the last."""

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
        """Raises: OSError"""
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
        """Raises: OSError, also where the answer is none."""
        status, headers = self._head()
        while status == 100:  # go on: nothing of ours asks for that
            status, headers = self._head()
        told = {name.lower(): text for name, text in headers}
        body = b"" if self._method == "HEAD" or status in (204, 304) else self._body(told)
        if told.get("connection", "").lower() == "close":
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
            raise ConnectionError("what answers there does not speak HTTP")
        headers = []
        while line := self._line():
            name, _, text = line.partition(":")
            headers.append((name.strip(), text.strip()))
        return int(rest[:3]), headers

    def _body(self, told: Mapping[str, str]) -> bytes:
        if told.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks()
        length = told.get("content-length", "")
        if not length.isdecimal():
            raise ConnectionError("the answer does not say how long it is")
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
            raise ConnectionError("a piece of the answer does not say how long it is") from None

    def _exactly(self, size: int) -> bytes:
        assert self._reader is not None
        data = self._reader.read(size)
        if len(data) < size:
            raise ConnectionResetError("the answer was cut off")
        return data

    def _line(self) -> str:
        assert self._reader is not None
        line = self._reader.readline(_LONGEST_LINE)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("no answer, or one that was cut off")
        return line.rstrip(b"\r\n").decode("latin-1")
