"""The interface of storages: objects by key, independent of where they are stored."""

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, runtime_checkable

from danlu.errors import StorageError


@dataclass(frozen=True)
class Entry:
    """An object in a listing. ``etag`` changes when the bytes change."""

    key: str
    size: int
    etag: str
    modified: int = field(default=0, compare=False)  # nanoseconds since 1970; 0: unknown


class Changed(StorageError):
    """An object was replaced or removed after it was listed or opened."""


class Guard(Protocol):
    """A hook that a storage calls before one of its objects is replaced or removed."""

    def covers(self, key: str) -> bool:
        """Return True if :meth:`before` may have work to do for this object."""

    def before(self, key: str) -> None:
        """Prepare for the change. An exception prevents the change."""


class Storage(Protocol):
    """The objects of one bucket, or of one directory.

    Keys are relative and use ``/``. No key, whether from a caller or from a listing, refers to
    anything outside the bucket. A reader sees a whole object or none. Thread-safe.
    """

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Yield the objects with a key that begins with ``prefix``, sorted by key.

        Objects in Danlu's reserved folder are left out. See ``danlu.storage.names.is_hidden``.
        """

    def stat(self, key: str) -> Entry | None:
        """Return the entry of one object, or None."""

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading, seekable.

        Raises:
            NotFound: the object does not exist.
        """

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        """Return bytes of an object, or None if it does not exist."""

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        """Store an object, replacing any existing one. Readers never see a partial object."""

    def create(self, key: str, data: bytes) -> bool:
        """Store a new object. Return False, with no change, if the object exists."""

    def copy(self, key: str, to: str, etag: str = "") -> Entry:
        """Copy an object to another key within the storage, with the guarantees of a write.

        ``etag``: copy only this version. If it is empty, copy the current version.

        Raises:
            NotFound: the object does not exist.
            Changed: the object has another version.
        """

    def delete(self, key: str) -> None:
        """Remove an object. Removing a missing object is not an error."""

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        """Return the key and size of every object that :meth:`list` yields."""


@runtime_checkable
class Browsable(Protocol):
    """A storage that can list one folder without its subfolders."""

    def children(self, prefix: str) -> Iterator[Entry]:
        """Yield the objects directly below ``prefix``, sorted by key.

        ``prefix`` is empty or ends in ``/``. Each subfolder is one entry with a key that ends in
        ``/``. The marker object of the folder itself has the key ``prefix``.
        """


@runtime_checkable
class Sweepable(Protocol):
    """A storage where a killed writer leaves unfinished data that no listing shows."""

    def unfinished(self, prefix: str = "", older: float = ...) -> list[str]:
        """Return the keys or paths that :meth:`sweep` would remove."""

    def sweep(self, prefix: str = "", older: float = ...) -> int:
        """Remove unfinished data below ``prefix`` that is more than ``older`` seconds old.

        Return the number of removed items.
        """


Progressing = Callable[[int, int], None]
"""Called often with the bytes done and the total bytes. An exception ends the transfer."""


@dataclass(frozen=True)
class FileRecord:
    """The state of a file when it was transferred.

    ``mtime_ns`` is -1 if the file may have changed during the transfer. A large downloaded object
    has an ``etag`` instead of ``sha256``, because hashing it again would take longer than some
    services need to send it.
    """

    size: int
    mtime_ns: int
    sha256: str
    etag: str = ""


@dataclass(frozen=True)
class Manifest:
    """The files of a directory tree by relative path, and its empty folders."""

    files: Mapping[str, FileRecord] = field(default_factory=dict)
    folders: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(mark.size for mark in self.files.values())


class TransferProgress:
    """A counter of transferred bytes that reports to the caller's ``progress``. Thread-safe."""

    def __init__(self, total: int, progress: Progressing | None) -> None:
        self.done = 0
        self.total = total
        self._progress = progress
        self._lock = threading.Lock()
        self.add(0)

    def add(self, count: int) -> None:
        with self._lock:
            self.done += count
            if self._progress is not None:
                self._progress(self.done, max(self.done, self.total))


_MD5 = re.compile(r"[0-9a-f]{32}")
_PARTS = re.compile(r"[0-9a-f]{32}-([1-9][0-9]{0,4})")
_MiB = 1 << 20
# Part sizes of multipart uploads. First those of Danlu, the AWS tools, rclone, s3cmd, s3fs, MinIO.
_SIZES = [n * _MiB for n in (8, 5, 15, 50, 16, 64, 10, 20, 25, 32, 100, 128, 256, 512)]
_CHUNK = 1 << 20


def matches(stream: BinaryIO, entry: Entry) -> bool:
    """Return True if the etag proves that a stream has the bytes of the object.

    The stream must have the size of the object. Return False if the etag cannot be compared. The
    stream is read, if necessary several times.
    """
    if _MD5.fullmatch(entry.etag):
        return _md5(stream, entry.size).hexdigest() == entry.etag
    return any(_in_parts(stream, size, entry) for size in _candidates(entry))


def comparable(entry: Entry) -> bool:
    """Return True if the etag of an object has the form of a hash of its bytes."""
    return bool(_MD5.fullmatch(entry.etag) or _PARTS.fullmatch(entry.etag))


def _candidates(entry: Entry) -> Iterator[int]:
    found = _PARTS.fullmatch(entry.etag)
    count = int(found[1]) if found else 0
    return (size for size in _SIZES if count and -(-entry.size // size) == count)


def _in_parts(stream: BinaryIO, size: int, entry: Entry) -> bool:
    if not stream.seekable():
        return False
    stream.seek(0)
    sums, left = b"", entry.size
    while left:
        sums += _md5(stream, min(size, left)).digest()
        left -= min(size, left)
    whole = hashlib.md5(sums, usedforsecurity=False).hexdigest()
    return whole == entry.etag.partition("-")[0]


def _md5(stream: BinaryIO, size: int) -> "hashlib._Hash":
    digest = hashlib.md5(usedforsecurity=False)
    while size and (piece := stream.read(min(size, _CHUNK))):
        digest.update(piece)
        size -= len(piece)
    return digest


def etag_in(headers: Mapping[str, str]) -> str:
    """Return the ETag header without quotes, or "" if there is none."""
    return headers.get("etag", "").strip('"')
