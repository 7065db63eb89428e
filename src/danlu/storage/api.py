"""Where bytes live: objects by key, whatever holds them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol, runtime_checkable

from danlu.errors import StorageError


@dataclass(frozen=True)
class Entry:
    """An object in a listing. ``etag`` changes when the bytes do."""

    key: str
    size: int
    etag: str
    modified: int = field(default=0, compare=False)  # nanoseconds since 1970; 0: not told


class Changed(StorageError):
    """An object is another one now than when it was listed or opened."""


class Storage(Protocol):
    """The objects of one bucket, or of one directory.

    Keys are relative, with ``/``; nothing a caller or a listing says leads outside the bucket.
    A reader sees a whole object or none. Safe to use from several threads.
    """

    def list(self, prefix: str = "") -> Iterator[Entry]:
        """Yield the objects whose key begins with ``prefix``, in order of key."""

    def stat(self, key: str) -> Entry | None:
        """Return the entry of one object, or None."""

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading, seekable.

        Raises:
            NotFound: it is not there.
        """

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        """Return bytes of an object, or None where it is not there."""

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        """Store an object, replacing what was there; it appears at once and whole."""

    def create(self, key: str, data: bytes) -> bool:
        """Store an object that is not there yet; False, and nothing changed, when it is."""

    def copy(self, key: str, to: str) -> Entry:
        """Store the bytes of an object under another key too, where they lie, as a write does.

        Raises:
            NotFound: it is not there.
        """

    def delete(self, key: str) -> None:
        """Remove an object. Removing what is not there is no error."""

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        """Return key and size of what :meth:`list` yields."""


@runtime_checkable
class Browsable(Protocol):
    """A storage that can list one folder without what lies deeper."""

    def children(self, prefix: str) -> Iterator[Entry]:
        """Yield the objects directly below a prefix that is empty or ends in ``/``, by key.

        What lies deeper is told once per folder, as an entry whose key ends in ``/``; the mark
        of the folder itself has ``prefix`` for its key.
        """


@runtime_checkable
class Sweepable(Protocol):
    """A storage where a writer that is killed leaves something that no listing shows."""

    def unfinished(self, prefix: str = "", older: float = ...) -> list[str]:
        """Return what :meth:`sweep` would remove, by key or path."""

    def sweep(self, prefix: str = "", older: float = ...) -> int:
        """Remove what was left over ``older`` seconds ago below a prefix; return how many."""
