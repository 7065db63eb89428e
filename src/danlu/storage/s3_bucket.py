"""The requests of one bucket: which way each goes, and tried again for minutes.

Everything here raises ``s3_faults.Fault``; ``s3.py`` makes sentences of them.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar
from urllib.parse import urlsplit

from danlu.errors import Unsupported
from danlu.settings import Endpoint
from danlu.storage.api import Entry
from danlu.storage.s3_answers import http_time
from danlu.storage.s3_fast import Fast, ordinary, usable
from danlu.storage.s3_faults import Fault, Passing
from danlu.storage.s3_patience import Patience
from danlu.storage.s3_wire import Answer, Timeouts, Wire

T = TypeVar("T")


class Bucket:
    """Safe for threads, and in a process that was forked: it makes connections of its own."""

    def __init__(
        self, endpoint: Endpoint, name: str, patience: Patience, timeouts: Timeouts
    ) -> None:
        self.name = name
        self.host = urlsplit(endpoint.endpoint).netloc
        self._endpoint = endpoint
        self._patience = patience
        self._timeouts = timeouts
        self._lines = _Lines(0)

    def ask(
        self,
        method: str,
        key: str = "",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        return self._try(lambda: self._wire.request(method, key, query, headers, body))

    def ask_once(self, method: str, key: str, query: dict[str, str]) -> Answer:
        """For what may be left undone: nobody waits for it."""
        return self._wire.request(method, key, query)

    def head(self, key: str) -> Entry:
        fast = self._fast
        if fast and ordinary(key):
            return self._try(lambda: fast.head(key))
        return entry(key, self.ask("HEAD", key))

    def put(self, key: str, data: bytes) -> Entry:
        fast = self._fast
        if fast and ordinary(key):
            etag = self._try(lambda: fast.put(key, data))
        else:
            etag = self.ask("PUT", key, None, None, data).etag
        return Entry(key, len(data), etag)

    def get(self, key: str, start: int, end: int | None, etag: str = "") -> tuple[bytes, int, str]:
        """Return bytes, the size of the whole object and its etag; no bytes beyond its end.

        With ``etag``: of the object that has it, else the fault 412.
        """
        fast = self._fast
        try:
            if fast and ordinary(key):
                return self._try(lambda: fast.get(key, start, end, etag))
            return self._try(lambda: self._get(key, start, end, etag))
        except Fault as fault:
            if fault.status != 416:
                raise
        whole = self.head(key)
        return b"", whole.size, whole.etag

    def stream(
        self, key: str, start: int, end: int, etag: str, take: Callable[[memoryview], None]
    ) -> None:
        """Call ``take`` with the bytes of a range, in order; of the object that has this etag."""
        at = start

        def attempt() -> None:
            nonlocal at
            before = at
            try:
                for piece in self._wire.stream(key, at, end, etag):
                    take(piece)
                    at += len(piece)
            except Passing:
                if at == before:  # else it goes on from there, with new patience
                    raise

        while at < end:
            self._try(attempt)

    def _get(self, key: str, start: int, end: int | None, etag: str) -> tuple[bytes, int, str]:
        headers = {"if-match": f'"{etag}"'} if etag else {}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        answer = self._wire.request("GET", key, None, headers)
        if answer.status == 200:  # the whole object, whatever was asked for
            return answer.body[start:end], len(answer.body), answer.etag
        size = answer.headers.get("content-range", "").rpartition("/")[2]
        return answer.body, int(size) if size.isdigit() else start + len(answer.body), answer.etag

    def _try(self, attempt: Callable[[], T]) -> T:
        return self._patience(attempt, self.host)

    @property
    def _wire(self) -> Wire:
        lines = self._of_this_process()
        with lines.making:
            if lines.wire is None:
                lines.wire = self._made(Wire)
        return lines.wire

    @property
    def _fast(self) -> Fast | None:
        lines = self._of_this_process()
        with lines.making:
            if lines.fast is None and usable():
                lines.fast = self._made(Fast)
        return lines.fast

    def _of_this_process(self) -> "_Lines":
        """Return connections of this process: those of its parent are not for its use."""
        if self._lines.process != os.getpid():
            self._lines = _Lines(os.getpid())
        return self._lines

    def _made(self, kind: Callable[[Endpoint, str, Timeouts], T]) -> T:
        try:
            return kind(self._endpoint, self.name, self._timeouts)
        except ModuleNotFoundError as error:
            raise Unsupported(
                f"{self.host} cannot be spoken to: {error.name} is not installed.",
                hint="pip install 'danlu[s3]'",
            ) from None


@dataclass
class _Lines:
    """Connections of one process. Each is made on use: most transfers need one kind only."""

    process: int
    wire: Wire | None = None
    fast: Fast | None = None
    making: Lock = field(default_factory=Lock)


def entry(key: str, answer: Answer) -> Entry:
    """Return the entry of the object whose HEAD was answered."""
    size = int(answer.headers.get("content-length", "-1"))
    return Entry(key, size, answer.etag, http_time(answer.headers.get("last-modified", "")))
