"""The requests of one bucket: single requests with retries, and batches without retries.

The functions raise ``s3.answers.S3Error``. ``s3.storage`` converts it to StorageError.
"""

import logging
import math
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar
from urllib.parse import urlsplit

from danlu.errors import Unsupported
from danlu.settings import Endpoint
from danlu.storage.api import Entry
from danlu.storage.s3.answers import S3Error, TransientS3Error, http_time
from danlu.storage.s3.http import Requests, S3Client, S3Response, Timeouts, proxy_of
from danlu.storage.s3.multiplexer import Reply, S3Multiplexer

log = logging.getLogger(__name__)
T = TypeVar("T")

_FIRST, _MAX_PAUSE = 0.2, 15.0  # seconds between two attempts


@dataclass(frozen=True)
class S3RetryPolicy:
    """The retry policy for transient errors of a service.

    ``seconds``: how long one request is retried. ``limit`` is called before each retry and returns
    the seconds left for all requests. It may raise to end the retries.
    """

    seconds: float = 900.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    limit: Callable[[], float] = lambda: math.inf

    def __call__(self, ask: Callable[[], T], of: str) -> T:
        """Return the result of ``ask``, retrying transient errors.

        ``of`` is the name of the service in log messages.

        Raises:
            TransientS3Error: the error persisted until the time limit.
        """
        since: float | None = None
        pause = _FIRST
        while True:
            try:
                return ask()
            except TransientS3Error as fault:
                now = self.clock()
                since = now if since is None else since
                left = min(self.seconds - (now - since), self.limit())
                if left <= 0:
                    raise
                if pause >= _FIRST * 8 and pause < _FIRST * 16:  # once, after a few attempts
                    log.warning("%s does not answer (%s); trying on for %.0f s", of, fault, left)
                # Jitter: many tasks lose the service at once and must not all retry at once.
                self.sleep(min(pause * random.uniform(0.75, 1.25), left))
                pause = min(pause * 2, _MAX_PAUSE)


class Bucket:
    """The requests of one bucket.

    Thread-safe and fork-safe. A forked process creates its own connections.
    """

    def __init__(
        self, endpoint: Endpoint, name: str, retry: S3RetryPolicy, timeouts: Timeouts
    ) -> None:
        self.name = name
        self.host = urlsplit(endpoint.endpoint).netloc
        self._endpoint = endpoint
        self._retry = retry
        self._timeouts = timeouts
        self._lines = _ProcessConnections(0)

    def ask(
        self,
        method: str,
        key: str = "",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> S3Response:
        return self._try(lambda: self._wire.request(method, key, query, headers, body))

    @contextmanager
    def listing(self) -> Iterator[Callable[[dict[str, str]], bytes]]:
        """Yield a function that requests one page of a listing. All pages use one connection."""

        def page(query: dict[str, str]) -> bytes:
            asked = [(None, (requests.head("GET", "", query),))]
            replies = [reply for _, reply in lanes.exchange(asked)] if lanes else [None]
            if replies[0] is not None and replies[0].status == 200:
                return bytes(replies[0].body)
            return self.ask("GET", "", query).body

        requests = Requests(self._endpoint, self.name)
        with self._lanes(requests, 1) as lanes:
            yield page

    def ask_once(self, method: str, key: str, query: dict[str, str]) -> S3Response:
        """Send one request without retries, for optional work."""
        return self._wire.request(method, key, query)

    def head(self, key: str) -> Entry:
        return entry(key, self.ask("HEAD", key))

    def put(self, key: str, data: bytes) -> Entry:
        return Entry(key, len(data), self.ask("PUT", key, None, None, data).etag)

    def get(self, key: str, start: int, end: int | None, etag: str = "") -> tuple[bytes, int, str]:
        """Return bytes of an object, its size and its etag. Beyond its end, return no bytes.

        With ``etag``, the object must have this etag. Otherwise S3Error with status 412 is raised.
        """
        try:
            return self._try(lambda: self._get(key, start, end, etag))
        except S3Error as fault:
            if fault.status != 416:
                raise
        whole = self.head(key)
        return b"", whole.size, whole.etag

    def stream(
        self, key: str, start: int, end: int, etag: str, take: Callable[[memoryview], None]
    ) -> None:
        """Call ``take`` with the bytes of a range, in order, of the object with this etag."""
        at = start

        def attempt() -> None:
            nonlocal at
            before = at
            try:
                for piece in self._wire.stream(key, at, end, etag):
                    take(piece)
                    at += len(piece)
            except TransientS3Error:
                if at == before:  # otherwise resume there and restart the retry timer
                    raise

        while at < end:
            self._try(attempt)

    def read_many(
        self, wanted: Iterable[tuple[T, Entry]], max_requests: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """Yield whole objects as they arrive, each in the version of its entry.

        None instead of bytes: the caller must use another request.
        """
        asked = (((item, entry), "GET", entry.key, b"") for item, entry in wanted)
        for (item, entry), reply in self._at_once(asked, max_requests):
            same = reply and (reply.status, reply.etag) == (200, entry.etag)
            found = reply.body if reply and same and len(reply.body) == entry.size else None
            yield item, entry, found

    def write_many(
        self, given: Iterable[tuple[T, str, bytes]], max_requests: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """Store whole objects, and yield each entry when it is stored.

        None instead of an entry: the caller must use another request.
        """
        asked = (((item, key, len(data)), "PUT", key, data) for item, key, data in given)
        for (item, key, size), reply in self._at_once(asked, max_requests):
            kept = reply is not None and reply.status == 200 and reply.etag
            yield item, Entry(key, size, reply.etag) if reply and kept else None

    def _at_once(
        self, asked: Iterable[tuple[T, str, str, bytes]], max_requests: int
    ) -> Iterator[tuple[T, Reply | None]]:
        """Send all requests (item, method, key, body) and yield each item with its response."""
        requests = Requests(self._endpoint, self.name)
        heads = (
            (item, (requests.head(method, key, None, body), body))
            for item, method, key, body in asked
        )
        with self._lanes(requests, max_requests) as lanes:
            yield from lanes.exchange(heads) if lanes else ((item, None) for item, _ in heads)

    @contextmanager
    def _lanes(self, requests: Requests, most: int) -> Iterator[S3Multiplexer | None]:
        """Yield a multiplexer, or None if requests must go through a proxy."""
        if proxy_of(requests.url):
            yield None
            return
        with S3Multiplexer(self._endpoint, requests.url, self._timeouts, most) as lanes:
            yield lanes

    def _get(self, key: str, start: int, end: int | None, etag: str) -> tuple[bytes, int, str]:
        headers = {"if-match": f'"{etag}"'} if etag else {}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        answer = self._wire.request("GET", key, None, headers)
        if answer.status == 200:  # the whole object, even if a range was requested
            return answer.body[start:end], len(answer.body), answer.etag
        size = answer.headers.get("content-range", "").rpartition("/")[2]
        return answer.body, int(size) if size.isdigit() else start + len(answer.body), answer.etag

    def _try(self, attempt: Callable[[], T]) -> T:
        return self._retry(attempt, self.host)

    @property
    def _wire(self) -> S3Client:
        """The connections of this process. It must not use those of its parent process."""
        if self._lines.process != os.getpid():
            self._lines = _ProcessConnections(os.getpid())
        lines = self._lines
        with lines.making:
            if lines.wire is None:
                lines.wire = self._new_wire()
        return lines.wire

    def _new_wire(self) -> S3Client:
        try:
            return S3Client(self._endpoint, self.name, self._timeouts)
        except ModuleNotFoundError as error:
            raise Unsupported.from_key("s3.no_library", host=self.host, name=error.name) from None


@dataclass
class _ProcessConnections:
    """The connections of one process, created on use."""

    process: int
    wire: S3Client | None = None
    making: Lock = field(default_factory=Lock)


def entry(key: str, answer: S3Response) -> Entry:
    """Return the entry of an object from the response to a HEAD request."""
    size = int(answer.headers.get("content-length", "-1"))
    return Entry(key, size, answer.etag, http_time(answer.headers.get("last-modified", "")))
