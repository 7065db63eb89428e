"""A bucket of a service that speaks S3.

obstore moves the bytes of ordinary keys (``s3_fast``), signed requests of our own do the rest
(``s3_wire``); every request is tried again for minutes (``s3_patience``).
"""

import io
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from danlu.errors import NotFound, Refused, StorageError
from danlu.settings import Endpoint
from danlu.storage import s3_answers as answers
from danlu.storage import s3_upload
from danlu.storage.api import Entry
from danlu.storage.s3_fast import Fast, ordinary, usable
from danlu.storage.s3_faults import Fault, told
from danlu.storage.s3_patience import Patience
from danlu.storage.s3_reader import BLOCK, ObjectReader
from danlu.storage.s3_upload import PART, read_fully
from danlu.storage.s3_wire import Answer, Timeouts, Wire, quoted

T = TypeVar("T")
_TOKEN = "x-amz-meta-danlu-created"
_LONGEST_KEY = 1024


class S3Storage:
    """The objects of one bucket; see ``danlu.storage.api.Storage``.

    An object that is replaced while it is read by several requests is told as an error, never
    mixed. Safe for threads, and in a process that was forked.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        bucket: str,
        *,
        patience: Patience | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.bucket = bucket
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._timeouts = timeouts or Timeouts()
        self._host = urlsplit(endpoint.endpoint).netloc
        self._lines: tuple[int, Wire, Fast | None] | None = None

    def __repr__(self) -> str:
        return f"S3Storage({self._endpoint.endpoint!r}, {self.bucket!r})"

    def list(self, prefix: str = "") -> Iterator[Entry]:
        query = {"list-type": "2", "prefix": prefix, "encoding-type": "url"}
        seen: set[str] = set()
        while True:
            with self._telling(prefix):
                found = answers.page(self._ask("GET", "", query).body, prefix)
            yield from found.entries
            if not found.next:
                return
            if found.next in seen:
                raise StorageError(f"The listing of {prefix!r} at {self._host} has no end.")
            seen.add(found.next)
            query["continuation-token"] = found.next

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return ((entry.key, entry.size) for entry in self.list(prefix))

    def stat(self, key: str) -> Entry | None:
        with self._telling(key):
            try:
                return self._head(key)
            except Fault as fault:
                if fault.status == 404 or not _possible(key):
                    return None
                if fault.status == 403 and not fault.code:
                    self._ask("GET", key, None, {"range": "bytes=0-0"})  # says why, HEAD does not
                raise

    def open(self, key: str) -> BinaryIO:
        with self._telling(key):
            try:
                first, size, etag = self._get(key, 0, BLOCK)
            except Fault as fault:
                if self._is_missing(fault, key):
                    raise NotFound("object", key) from None
                raise

        def fetch(start: int, end: int) -> bytes:
            with self._telling(key):
                return self._pinned(key, start, end, etag)

        reader = ObjectReader(fetch, size, first)
        return cast("BinaryIO", io.BufferedReader(reader, 1 << 20))

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        if size == 0:
            return None if self.stat(key) is None else b""
        with self._telling(key):
            try:
                return self._get(key, start, None if size is None else start + size)[0]
            except Fault as fault:
                if self._is_missing(fault, key):
                    return None
                raise

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        _check(key)
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        first = read_fully(stream, PART)
        with self._telling(key):
            # One byte more tells whether a single request is enough.
            more = stream.read(1) if len(first) == PART else b""
            if not more:
                return self._put(key, first)
            rest = cast("BinaryIO", _Joined(more, stream))
            return s3_upload.upload(self._ask, key, first, rest)

    def create(self, key: str, data: bytes) -> bool:
        _check(key)
        token = secrets.token_hex(8)
        headers = {"if-none-match": "*", _TOKEN: token}
        with self._telling(key):
            # First: some services pass over the condition, and would replace what is there.
            if self.stat(key) is not None:
                return False
            try:
                self._ask("PUT", key, None, headers, data)
            except Fault as fault:
                if fault.status not in (409, 412):
                    raise
                # Where an answer was lost, it is our own object that is in the way.
                return self._ask("HEAD", key).headers.get(_TOKEN) == token
        return True

    def copy(self, key: str, to: str) -> Entry:
        _check(to)
        source = self.stat(key)
        if source is None:
            raise NotFound("object", key)
        if key == to:
            return source  # which S3 itself refuses
        name = f"/{self.bucket}/{quoted(key)}"
        with self._telling(to):
            if source.size > s3_upload.LARGEST_COPY:
                return s3_upload.copy(self._ask, key, to, name, source.size)
            answer = self._ask("PUT", to, None, {"x-amz-copy-source": name})
            return Entry(to, source.size, answers.etag(answer.body))

    def delete(self, key: str) -> None:
        if not _possible(key):
            return
        with self._telling(key):
            try:
                self._ask("DELETE", key)
            except Fault as fault:
                if not self._is_missing(fault, key):
                    raise

    def sweep(self, prefix: str = "", older: float = 86_400.0) -> int:
        """Take back uploads of killed writers that began over ``older`` seconds ago."""
        with self._telling(prefix):
            return s3_upload.sweep(self._ask, prefix, older, now=time.time)

    def _head(self, key: str) -> Entry:
        fast = self._fast
        if fast and ordinary(key):
            return Entry(key, *self._try(lambda: fast.head(key)))
        answer = self._ask("HEAD", key)
        return Entry(key, int(answer.headers.get("content-length", "0")), answer.etag)

    def _put(self, key: str, data: bytes) -> Entry:
        fast = self._fast
        if fast and ordinary(key):
            etag = self._try(lambda: fast.put(key, data))
        else:
            etag = self._ask("PUT", key, None, None, data).etag
        return Entry(key, len(data), etag)

    def _get(self, key: str, start: int, end: int | None, etag: str = "") -> tuple[bytes, int, str]:
        """Return bytes, the size of the whole object and its etag; no bytes beyond its end."""
        _check_readable(key)
        fast = self._fast
        try:
            if fast and ordinary(key):
                return self._try(lambda: fast.get(key, start, end, etag))
            return self._try(lambda: self._get_slowly(key, start, end, etag))
        except Fault as fault:
            if fault.status != 416:
                raise
        whole = self._head(key)
        return b"", whole.size, whole.etag

    def _get_slowly(
        self, key: str, start: int, end: int | None, etag: str
    ) -> tuple[bytes, int, str]:
        headers = {"if-match": f'"{etag}"'} if etag else {}
        if start or end is not None:
            headers["range"] = f"bytes={start}-{'' if end is None else end - 1}"
        answer = self._wire.request("GET", key, None, headers)
        size = answer.headers.get("content-range", "").rpartition("/")[2]
        if answer.status == 200:  # the whole object, whatever was asked for
            return answer.body[start:end], len(answer.body), answer.etag
        return answer.body, int(size) if size.isdigit() else start + len(answer.body), answer.etag

    def _pinned(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return bytes of the object that was opened, not of one that has replaced it."""
        try:
            data, _, found = self._get(key, start, end, etag)
        except Fault as fault:
            if fault.status in (404, 412):
                self._changed(key)
            raise
        if len(data) != end - start or found != etag:
            self._changed(key)
        return data

    def _changed(self, key: str) -> NoReturn:
        raise StorageError(
            f"The object {key!r} was replaced or removed while it was read.",
            hint="Read it again.",
        )

    def _is_missing(self, fault: Fault, key: str) -> bool:
        return not _possible(key) or (fault.status == 404 and fault.code != "NoSuchBucket")

    def _ask(
        self,
        method: str,
        key: str = "",
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
    ) -> Answer:
        return self._try(lambda: self._wire.request(method, key, query, headers, body))

    def _try(self, attempt: Callable[[], T]) -> T:
        return self._patience(attempt, self._host)

    @contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        """Say in a sentence what the service refused, and never what it was sent."""
        try:
            yield
        except Fault as fault:
            raise told(fault, self._host, self.bucket, key) from None

    @property
    def _wire(self) -> Wire:
        return self._connected()[1]

    @property
    def _fast(self) -> Fast | None:
        return self._connected()[2]

    def _connected(self) -> tuple[int, Wire, Fast | None]:
        """Return connections of this process: those of its parent are not for its use."""
        lines = self._lines
        if lines is None or lines[0] != os.getpid():
            wire = Wire(self._endpoint, self.bucket, self._timeouts)
            fast = Fast(self._endpoint, self.bucket, self._timeouts) if usable() else None
            lines = self._lines = (os.getpid(), wire, fast)
        return lines


class _Joined(io.RawIOBase):
    """Bytes that were read too early, then the rest of their stream."""

    def __init__(self, early: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._early = early
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        early, self._early = self._early, b""
        return early or self._stream.read(size)


def _possible(key: str) -> bool:
    try:
        return 0 < len(key.encode()) <= _LONGEST_KEY
    except UnicodeEncodeError:
        return False


def _check(key: str) -> None:
    if not _possible(key):
        raise Refused(
            f"{key!r} cannot be the name of an object here.",
            hint="A key has 1 to 1,024 bytes of UTF-8.",
        )


def _check_readable(key: str) -> None:
    if not _possible(key):
        raise Fault(404, "NoSuchKey")
