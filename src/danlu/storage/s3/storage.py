"""The storage of a bucket at an S3-compatible service.

Requests are signed and sent by ``s3.http`` and retried for minutes by ``s3.bucket``. Batches of
small objects use ``s3.multiplexer``. Redirects are not followed, so a configured service cannot
redirect requests to another one.
"""

import io
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeVar, cast

from danlu.errors import NotFound, Refused, StorageError
from danlu.settings import Endpoint
from danlu.storage.api import Changed, Entry, Guard
from danlu.storage.names import is_hidden
from danlu.storage.s3 import answers
from danlu.storage.s3 import upload as s3_upload
from danlu.storage.s3.answers import S3Error, to_storage_error
from danlu.storage.s3.bucket import Bucket, S3RetryPolicy
from danlu.storage.s3.http import Timeouts, quoted
from danlu.storage.s3.upload import PART, read_fully

BLOCK = 8 << 20
AHEAD = 3  # blocks to prefetch during sequential reading

Fetch = Callable[[int, int], bytes]  # start and end (exclusive) -> exactly these bytes


class ObjectReader(io.RawIOBase):
    """A raw reader of an object in blocks. ``fetch`` returns the bytes of a range.

    ``first`` is the first block, which was read already. Like other file objects, it is not
    thread-safe. A copy in a forked process may be read as well.
    """

    def __init__(self, fetch: Fetch, size: int, first: bytes, block: int = BLOCK) -> None:
        super().__init__()
        self._fetch = fetch
        self._size = size
        self._block = block
        self._at = 0
        self._number, self._data = 0, first
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[int, Future[bytes]] = {}
        self._pid = os.getpid()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._at = base + offset
        return self._at

    # A buffered reader passes a memoryview; the base class allows any buffer.
    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self._piece(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readall(self) -> bytes:
        pieces = []
        while piece := self._piece(self._block):
            pieces.append(bytes(piece))
        return b"".join(pieces)

    def close(self) -> None:
        if not self.closed:
            self._drop()
            self._data = b""
        super().close()

    def _piece(self, most: int) -> memoryview:
        """Return up to ``most`` bytes of the current block, and advance the position."""
        if self._at >= self._size:
            return memoryview(b"")
        number, start = divmod(self._at, self._block)
        if number != self._number:
            self._data, self._number = self._get(number), number
        piece = memoryview(self._data)[start : start + most]
        self._at += len(piece)
        return piece

    def _get(self, number: int) -> bytes:
        if self._pid != os.getpid():
            # The prefetch threads do not exist in a forked process.
            self._pool, self._coming, self._pid = None, {}, os.getpid()
        onward = number == self._number + 1
        if number not in self._coming:
            self._drop()
        coming = self._coming.pop(number, None)
        if onward:
            self._look_ahead(number)
        return coming.result() if coming else self._fetch(*self._range(number))

    def _look_ahead(self, number: int) -> None:
        last = (self._size - 1) // self._block
        for following in range(number + 1, min(number + AHEAD, last) + 1):
            if following not in self._coming:
                self._pool = self._pool or ThreadPoolExecutor(AHEAD, "danlu-read")
                self._coming[following] = self._pool.submit(self._fetch, *self._range(following))

    def _range(self, number: int) -> tuple[int, int]:
        return number * self._block, min((number + 1) * self._block, self._size)

    def _drop(self) -> None:
        """Discard the prefetched blocks."""
        self._coming = {}
        if self._pool and self._pid == os.getpid():
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None


T = TypeVar("T")
Keys = list[str]  # an alias, because S3Storage has a method named list
_TOKEN = "x-amz-meta-danlu-created"
_MAX_KEY = 1024


def buckets(endpoint: Endpoint, *, retry: S3RetryPolicy | None = None) -> list[str]:
    """Return the names of the buckets that the access key of an endpoint may list.

    Raises:
        StorageError: the service does not answer, or refuses the request.
    """
    # The response is small, so a service without one for 10 seconds is not available.
    service = Bucket(endpoint, "", retry or S3RetryPolicy(), Timeouts(silence=10.0))
    try:
        return answers.buckets(service.ask("GET").body)
    except S3Error as fault:
        raise to_storage_error(fault, service.host, "", "") from None


class S3Storage:
    """The objects of one bucket. See ``danlu.storage.api.Storage`` and ``Browsable``.

    If an object is replaced while several requests read it, Changed is raised. Versions are never
    mixed. Thread-safe and fork-safe.
    """

    max_requests = 16  # max concurrent transfers of small objects

    def __init__(
        self,
        endpoint: Endpoint,
        bucket: str,
        *,
        retry: S3RetryPolicy | None = None,
        timeouts: Timeouts | None = None,
        notes: Path | None = None,
        guard: Guard | None = None,
    ) -> None:
        """Initialize the storage.

        ``notes``: a local folder for records of multipart uploads. See ``s3.upload``.
        """
        self._guard = guard
        self._notes = notes
        self._bucket = Bucket(endpoint, bucket, retry or S3RetryPolicy(), timeouts or Timeouts())

    def __repr__(self) -> str:
        return f"S3Storage({self._bucket.host!r}, {self._bucket.name!r})"

    def list(self, prefix: str = "") -> Iterator[Entry]:
        return self._pages(prefix, {})

    def children(self, prefix: str) -> Iterator[Entry]:
        return self._pages(prefix, {"delimiter": "/"})

    def _pages(self, prefix: str, how: dict[str, str]) -> Iterator[Entry]:
        if not _encodable(prefix):
            return
        query = {"list-type": "2", "prefix": prefix, "encoding-type": "url", **how}
        seen: set[str] = set()
        with self._bucket.listing() as listed:
            while True:
                with self._raise_storage_error(prefix):
                    found = answers.page(listed(query), prefix)
                yield from (one for one in found.entries if not is_hidden(one.key, prefix))
                if not found.next:
                    return
                if found.next in seen:
                    raise StorageError.from_key(
                        "s3.listing_no_end", prefix=prefix, host=self._bucket.host
                    )
                seen.add(found.next)
                query["continuation-token"] = found.next

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return ((entry.key, entry.size) for entry in self.list(prefix))

    def stat(self, key: str) -> Entry | None:
        if not _possible(key):
            return None
        with self._raise_storage_error(key):
            try:
                return self._bucket.head(key)
            except S3Error as fault:
                if fault.status == 404:
                    return None
                if fault.status == 403 and not fault.code:
                    # A HEAD response has no error code. A GET raises an error with the code.
                    self._bucket.ask("GET", key, None, {"range": "bytes=0-0"})
                raise

    def open(self, key: str) -> BinaryIO:
        found = self._found(key, 0, BLOCK)
        if found is None:
            raise NotFound("object", key)
        first, size, etag = found
        if len(first) == size:
            return io.BytesIO(first)

        def fetch(start: int, end: int) -> bytes:
            with self._raise_storage_error(key):
                return self._pinned(key, start, end, etag)

        reader = ObjectReader(fetch, size, first)
        return cast("BinaryIO", io.BufferedReader(reader, 1 << 20))

    def stream(
        self, entry: Entry, start: int, end: int, take: Callable[[memoryview], None]
    ) -> None:
        """See ``danlu.storage.transfer.download.RangeReadable``."""
        with self._raise_storage_error(entry.key):
            try:
                self._bucket.stream(entry.key, start, end, entry.etag, take)
            except S3Error as fault:
                if fault.status == 412 or _is_missing(fault):
                    self._changed(entry.key)
                raise

    def read_many(
        self, wanted: Iterable[tuple[T, Entry]], max_requests: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """See ``danlu.storage.transfer.parallel.BatchReadable``."""
        return self._bucket.read_many(wanted, max_requests)

    def write_many(
        self, given: Iterable[tuple[T, str, bytes]], max_requests: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """See ``danlu.storage.transfer.parallel.BatchWritable``."""
        guard = self._guard
        if guard is None:
            yield from self._bucket.write_many(given, max_requests)
            return
        aside: list[T] = []  # to be written one by one by write(), which calls the guard

        def others() -> Iterator[tuple[T, str, bytes]]:
            for item, key, data in given:
                if guard.covers(key):
                    aside.append(item)
                else:
                    yield item, key, data

        yield from self._bucket.write_many(others(), max_requests)
        yield from ((item, None) for item in aside)

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        if size == 0:
            return None if self.stat(key) is None else b""
        found = self._found(key, start, None if size is None else start + size)
        return None if found is None else found[0]

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        _check(key)
        if self._guard is not None:
            self._guard.before(key)
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        first = read_fully(stream, PART)
        # Read one more byte to find out if a single request is enough.
        more = stream.read(1) if len(first) == PART else b""
        with self._raise_storage_error(key):
            if not more:
                return self._bucket.put(key, first)
            rest = cast("BinaryIO", _Joined(more, stream))
            return s3_upload.upload(self._bucket, key, first, rest, self._notes)

    def create(self, key: str, data: bytes) -> bool:
        _check(key)
        token = secrets.token_hex(8)
        with self._raise_storage_error(key):
            # Some services ignore if-none-match and would replace an existing object.
            if self.stat(key) is not None:
                return False
            try:
                headers = {"if-none-match": "*", _TOKEN: token}
                self._bucket.ask("PUT", key, None, headers, data)
            except S3Error as fault:
                if fault.status not in (409, 412):
                    raise
                # If the response to an earlier attempt was lost, the object may be our own.
                return self._bucket.ask("HEAD", key).headers.get(_TOKEN) == token
        return True

    def copy(self, key: str, to: str, etag: str = "") -> Entry:
        _check(to)
        source = self.stat(key)
        if source is None:
            raise NotFound("object", key)
        if etag and source.etag != etag:
            self._changed(key)
        if key == to:
            return source  # S3 refuses to copy an object to itself
        if not source.size:
            return self.write(to, b"")  # SeaweedFS 4.48 does not copy the marker of a folder
        if self._guard is not None:
            self._guard.before(to)
        headers = {"x-amz-copy-source": f"/{self._bucket.name}/{quoted(key)}"}
        if etag:
            headers["x-amz-copy-source-if-match"] = f'"{etag}"'
        with self._raise_storage_error(to):
            try:
                if source.size > s3_upload.LARGEST_COPY:
                    return s3_upload.copy(self._bucket, to, headers, source.size)
                answer = self._bucket.ask("PUT", to, None, headers)
            except S3Error as fault:
                if fault.status == 412:
                    self._changed(key)
                raise
            return Entry(to, source.size, answers.etag(answer.body))

    def delete(self, key: str) -> None:
        if not _possible(key):
            return
        if self._guard is not None:
            self._guard.before(key)
        with self._raise_storage_error(key):
            try:
                self._bucket.ask("DELETE", key)
            except S3Error as fault:
                if not _is_missing(fault):
                    raise

    def unfinished(self, prefix: str = "", older: float = s3_upload.DEAD) -> "Keys":
        """Return the keys of the multipart uploads that :meth:`sweep` would abort."""
        with self._raise_storage_error(prefix):
            return s3_upload.left_over(self._bucket, prefix, lambda _: older)

    def sweep(self, prefix: str = "", older: float = s3_upload.DEAD) -> int:
        """Abort multipart uploads that began more than ``older`` seconds ago.

        Return their number. Killed writers leave such uploads. They are not listed as objects but
        are billed.
        """
        with self._raise_storage_error(prefix):
            return s3_upload.sweep(self._bucket, prefix, lambda _: older)

    def _found(self, key: str, start: int, end: int | None) -> tuple[bytes, int, str] | None:
        if not _possible(key):
            return None
        with self._raise_storage_error(key):
            try:
                return self._bucket.get(key, start, end)
            except S3Error as fault:
                if _is_missing(fault):
                    return None
                raise

    def _pinned(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return bytes of the object with this etag. Raise Changed if it was replaced."""
        try:
            data, _, found = self._bucket.get(key, start, end, etag)
        except S3Error as fault:
            if fault.status == 412 or _is_missing(fault):
                self._changed(key)
            raise
        if len(data) != end - start or found != etag:
            self._changed(key)
        return data

    def _changed(self, key: str) -> NoReturn:
        raise Changed.from_key("s3.changed_while_read", key=key) from None

    @contextmanager
    def _raise_storage_error(self, key: str) -> Iterator[None]:
        """Convert S3Error to StorageError, without the content of the request."""
        try:
            yield
        except S3Error as fault:
            raise to_storage_error(fault, self._bucket.host, self._bucket.name, key) from None


class _Joined(io.RawIOBase):
    """A stream of bytes that were already read, followed by the rest of their stream."""

    def __init__(self, early: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._early = early
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        early, self._early = self._early, b""
        return early or self._stream.read(size)


def _is_missing(fault: S3Error) -> bool:
    return fault.status == 404 and fault.code != "NoSuchBucket"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _possible(key: str) -> bool:
    return _encodable(key) and 0 < len(key.encode()) <= _MAX_KEY


def _check(key: str) -> None:
    if not _possible(key):
        raise Refused.from_key("store.no_key", key=key)
