"""A bucket of a service that speaks S3.

Signed requests of our own (``s3_wire``), each tried again for minutes (``s3_patience``); many small
objects at once go over ``s3_lanes``. No redirect is followed: a service that is set cannot send
us to another one.
"""

import io
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, TypeVar, cast

from danlu.errors import NotFound, Refused, StorageError
from danlu.settings import Endpoint
from danlu.storage import s3_answers as answers
from danlu.storage import s3_upload
from danlu.storage.api import Changed, Entry
from danlu.storage.s3_bucket import Bucket
from danlu.storage.s3_faults import Fault, told
from danlu.storage.s3_patience import Patience
from danlu.storage.s3_reader import BLOCK, ObjectReader
from danlu.storage.s3_request import quoted
from danlu.storage.s3_upload import PART, read_fully
from danlu.storage.s3_wire import Timeouts

T = TypeVar("T")
Keys = list[str]  # by another name: a storage has a method of that one
_TOKEN = "x-amz-meta-danlu-created"
_LONGEST_KEY = 1024


def buckets(endpoint: Endpoint, *, patience: Patience | None = None) -> list[str]:
    """Return the names of the buckets at a service that its key may see.

    Raises:
        StorageError: it does not answer, or does not tell this key.
    """
    service = Bucket(endpoint, "", patience or Patience(), Timeouts())
    try:
        return answers.buckets(service.ask("GET").body)
    except Fault as fault:
        raise told(fault, service.host, "", "") from None


class S3Storage:
    """The objects of one bucket; see ``danlu.storage.api.Storage`` and ``Browsable``.

    An object that is replaced while it is read by several requests is told as an error, never
    mixed. Safe for threads, and in a process that was forked.
    """

    hands = 16  # transfers of small objects at once

    def __init__(
        self,
        endpoint: Endpoint,
        bucket: str,
        *,
        patience: Patience | None = None,
        timeouts: Timeouts | None = None,
        notes: Path | None = None,
    ) -> None:
        """``notes``: a folder of this machine to note uploads in; see ``s3_notes``."""
        self._notes = notes
        self._bucket = Bucket(endpoint, bucket, patience or Patience(), timeouts or Timeouts())

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
                with self._telling(prefix):
                    found = answers.page(listed(query), prefix)
                yield from found.entries
                if not found.next:
                    return
                if found.next in seen:
                    raise StorageError(
                        f"The listing of {prefix!r} at {self._bucket.host} has no end."
                    )
                seen.add(found.next)
                query["continuation-token"] = found.next

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return ((entry.key, entry.size) for entry in self.list(prefix))

    def stat(self, key: str) -> Entry | None:
        if not _possible(key):
            return None
        with self._telling(key):
            try:
                return self._bucket.head(key)
            except Fault as fault:
                if fault.status == 404:
                    return None
                if fault.status == 403 and not fault.code:
                    # HEAD is answered without a reason; this says it.
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
            with self._telling(key):
                return self._pinned(key, start, end, etag)

        reader = ObjectReader(fetch, size, first)
        return cast("BinaryIO", io.BufferedReader(reader, 1 << 20))

    def stream(
        self, entry: Entry, start: int, end: int, take: Callable[[memoryview], None]
    ) -> None:
        """See ``danlu.storage.pour.Streaming``."""
        with self._telling(entry.key):
            try:
                self._bucket.stream(entry.key, start, end, entry.etag, take)
            except Fault as fault:
                if fault.status == 412 or _is_missing(fault):
                    self._changed(entry.key)
                raise

    def gather(
        self, wanted: Iterable[tuple[T, Entry]], hands: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """See ``danlu.storage.gathering.Gathering``."""
        return self._bucket.gather(wanted, hands)

    def scatter(
        self, given: Iterable[tuple[T, str, bytes]], hands: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """See ``danlu.storage.gathering.Scattering``."""
        return self._bucket.scatter(given, hands)

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        if size == 0:
            return None if self.stat(key) is None else b""
        found = self._found(key, start, None if size is None else start + size)
        return None if found is None else found[0]

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        _check(key)
        stream = io.BytesIO(data) if isinstance(data, bytes) else data
        first = read_fully(stream, PART)
        # One byte more tells whether a single request is enough.
        more = stream.read(1) if len(first) == PART else b""
        with self._telling(key):
            if not more:
                return self._bucket.put(key, first)
            rest = cast("BinaryIO", _Joined(more, stream))
            return s3_upload.upload(self._bucket, key, first, rest, self._notes)

    def create(self, key: str, data: bytes) -> bool:
        _check(key)
        token = secrets.token_hex(8)
        with self._telling(key):
            # First: some services pass over the condition, and would replace what is there.
            if self.stat(key) is not None:
                return False
            try:
                headers = {"if-none-match": "*", _TOKEN: token}
                self._bucket.ask("PUT", key, None, headers, data)
            except Fault as fault:
                if fault.status not in (409, 412):
                    raise
                # Where an answer was lost, it is our own object that is in the way.
                return self._bucket.ask("HEAD", key).headers.get(_TOKEN) == token
        return True

    def copy(self, key: str, to: str) -> Entry:
        _check(to)
        source = self.stat(key)
        if source is None:
            raise NotFound("object", key)
        if key == to:
            return source  # which S3 itself refuses
        if not source.size:
            return self.write(to, b"")  # SeaweedFS 4.48 does not copy the mark of a folder
        name = f"/{self._bucket.name}/{quoted(key)}"
        with self._telling(to):
            if source.size > s3_upload.LARGEST_COPY:
                return s3_upload.copy(self._bucket, to, name, source.size)
            answer = self._bucket.ask("PUT", to, None, {"x-amz-copy-source": name})
            return Entry(to, source.size, answers.etag(answer.body))

    def delete(self, key: str) -> None:
        if not _possible(key):
            return
        with self._telling(key):
            try:
                self._bucket.ask("DELETE", key)
            except Fault as fault:
                if not _is_missing(fault):
                    raise

    def unfinished(self, prefix: str = "", older: float = s3_upload.DEAD) -> "Keys":
        """Return the keys whose uploads :meth:`sweep` would take back."""
        with self._telling(prefix):
            return s3_upload.left_over(self._bucket, prefix, lambda _: older)

    def sweep(self, prefix: str = "", older: float = s3_upload.DEAD) -> int:
        """Take back uploads of killed writers that began over ``older`` seconds ago.

        Returns how many there were. Nothing else ever shows them, and they are paid for.
        """
        with self._telling(prefix):
            return s3_upload.sweep(self._bucket, prefix, lambda _: older)

    def _found(self, key: str, start: int, end: int | None) -> tuple[bytes, int, str] | None:
        if not _possible(key):
            return None
        with self._telling(key):
            try:
                return self._bucket.get(key, start, end)
            except Fault as fault:
                if _is_missing(fault):
                    return None
                raise

    def _pinned(self, key: str, start: int, end: int, etag: str) -> bytes:
        """Return bytes of the object that was opened, not of one that has replaced it."""
        try:
            data, _, found = self._bucket.get(key, start, end, etag)
        except Fault as fault:
            if fault.status == 412 or _is_missing(fault):
                self._changed(key)
            raise
        if len(data) != end - start or found != etag:
            self._changed(key)
        return data

    def _changed(self, key: str) -> NoReturn:
        raise Changed(
            f"The object {key!r} was replaced or removed while it was read.",
            hint="Read it again.",
        ) from None

    @contextmanager
    def _telling(self, key: str) -> Iterator[None]:
        """Say in a sentence what the service refused, and never what it was sent."""
        try:
            yield
        except Fault as fault:
            raise told(fault, self._bucket.host, self._bucket.name, key) from None


class _Joined(io.RawIOBase):
    """Bytes that were read too early, then the rest of their stream."""

    def __init__(self, early: bytes, stream: BinaryIO) -> None:
        super().__init__()
        self._early = early
        self._stream = stream

    def read(self, size: int = -1) -> bytes:
        early, self._early = self._early, b""
        return early or self._stream.read(size)


def _is_missing(fault: Fault) -> bool:
    return fault.status == 404 and fault.code != "NoSuchBucket"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _possible(key: str) -> bool:
    return _encodable(key) and 0 < len(key.encode()) <= _LONGEST_KEY


def _check(key: str) -> None:
    if not _possible(key):
        raise Refused(
            f"{key!r} cannot be the name of an object here.",
            hint="A key has 1 to 1,024 bytes of UTF-8.",
        )
