"""The requests of one bucket: one by one, tried again for minutes, or many at once, tried once.

Everything here raises ``s3_faults.Fault``; ``s3.py`` makes sentences of them.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar
from urllib.parse import urlsplit

from danlu.errors import Unsupported
from danlu.settings import Endpoint
from danlu.storage.api import Entry
from danlu.storage.s3_answers import http_time
from danlu.storage.s3_faults import Fault, Passing
from danlu.storage.s3_lane import Reply
from danlu.storage.s3_lanes import Lanes
from danlu.storage.s3_patience import Patience
from danlu.storage.s3_request import Requests
from danlu.storage.s3_wire import Answer, Timeouts, Wire, proxy_of

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

    @contextmanager
    def listing(self) -> Iterator[Callable[[dict[str, str]], bytes]]:
        """Give what asks for one page of a listing after the other, over one connection."""

        def page(query: dict[str, str]) -> bytes:
            asked = [(None, (requests.head("GET", "", query),))]
            replies = [reply for _, reply in lanes.exchange(asked)] if lanes else [None]
            if replies[0] is not None and replies[0].status == 200:
                return bytes(replies[0].body)
            return self.ask("GET", "", query).body

        requests = Requests(self._endpoint, self.name)
        with self._lanes(requests, 1) as lanes:
            yield page

    def ask_once(self, method: str, key: str, query: dict[str, str]) -> Answer:
        """For what may be left undone: nobody waits for it."""
        return self._wire.request(method, key, query)

    def head(self, key: str) -> Entry:
        return entry(key, self.ask("HEAD", key))

    def put(self, key: str, data: bytes) -> Entry:
        return Entry(key, len(data), self.ask("PUT", key, None, None, data).etag)

    def get(self, key: str, start: int, end: int | None, etag: str = "") -> tuple[bytes, int, str]:
        """Return bytes, the size of the whole object and its etag; no bytes beyond its end.

        With ``etag``: of the object that has it, else the fault 412.
        """
        try:
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

    def gather(
        self, wanted: Iterable[tuple[T, Entry]], hands: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """Yield whole objects as they come, each of just this version; None: ask another way."""
        asked = (((item, entry), "GET", entry.key, b"") for item, entry in wanted)
        for (item, entry), reply in self._at_once(asked, hands):
            same = reply and (reply.status, reply.etag) == (200, entry.etag)
            found = reply.body if reply and same and len(reply.body) == entry.size else None
            yield item, entry, found

    def scatter(
        self, given: Iterable[tuple[T, str, bytes]], hands: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """Store whole objects; yield each as it is stored. None: try it another way."""
        asked = (((item, key, len(data)), "PUT", key, data) for item, key, data in given)
        for (item, key, size), reply in self._at_once(asked, hands):
            kept = reply is not None and reply.status == 200 and reply.etag
            yield item, Entry(key, size, reply.etag) if reply and kept else None

    def _at_once(
        self, asked: Iterable[tuple[T, str, str, bytes]], hands: int
    ) -> Iterator[tuple[T, Reply | None]]:
        """Yield the answer to each: method, key and body."""
        requests = Requests(self._endpoint, self.name)
        heads = (
            (item, (requests.head(method, key, None, body), body))
            for item, method, key, body in asked
        )
        with self._lanes(requests, hands) as lanes:
            yield from lanes.exchange(heads) if lanes else ((item, None) for item, _ in heads)

    @contextmanager
    def _lanes(self, requests: Requests, most: int) -> Iterator[Lanes | None]:
        """Give connections for plain requests; none where there is a proxy to be asked."""
        if proxy_of(requests.url):
            yield None
            return
        with Lanes(self._endpoint, requests.url, self._timeouts, most) as lanes:
            yield lanes

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
        """Return connections of this process: those of its parent are not for its use."""
        if self._lines.process != os.getpid():
            self._lines = _Lines(os.getpid())
        lines = self._lines
        with lines.making:
            if lines.wire is None:
                lines.wire = self._new_wire()
        return lines.wire

    def _new_wire(self) -> Wire:
        try:
            return Wire(self._endpoint, self.name, self._timeouts)
        except ModuleNotFoundError as error:
            raise Unsupported(
                f"{self.host} cannot be spoken to: {error.name} is not installed.",
                hint="pip install 'danlu[s3]'",
            ) from None


@dataclass
class _Lines:
    """Connections of one process, made on use."""

    process: int
    wire: Wire | None = None
    making: Lock = field(default_factory=Lock)


def entry(key: str, answer: Answer) -> Entry:
    """Return the entry of the object whose HEAD was answered."""
    size = int(answer.headers.get("content-length", "-1"))
    return Entry(key, size, answer.etag, http_time(answer.headers.get("last-modified", "")))
