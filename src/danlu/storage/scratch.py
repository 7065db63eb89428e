"""A bucket that can be read but is never changed: all changes go to a scratch folder.

The script of a rehearsal uses its object stores in this way. It finds the objects that are there,
and what it writes or removes itself, and the real bucket stays as it is.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import BinaryIO

from danlu.errors import NotFound
from danlu.storage.api import Browsable, Changed, Entry, Storage

_WRITTEN = "written/"  # folder of the objects that were written, by key
_REMOVED = "removed/"  # folder of an empty object for each real object that was removed
_MARK = ".removed"  # ends the names of these, because a name must not end with a slash


class ScratchStorage:
    """The objects of ``real`` with the changes below ``prefix`` in ``scratch``.

    Several processes may share the scratch folder. Each sees the changes of the others. A key may
    be shorter than in ``real`` by the length of ``prefix``.
    """

    def __init__(self, real: Storage, scratch: Storage, prefix: str) -> None:
        self.real = real
        # See ``transfer.parallel.RemoteStorage``.
        self.max_requests: int = getattr(real, "max_requests", 1)
        self._scratch = scratch
        self._written = f"{prefix}{_WRITTEN}"
        self._removed = f"{prefix}{_REMOVED}"

    def __repr__(self) -> str:
        return f"ScratchStorage({self.real!r}, {self._scratch!r})"

    def list(self, prefix: str = "") -> Iterator[Entry]:
        written = self._changed(prefix)
        hidden = {entry.key for entry in written} | self._gone(prefix)
        real = (entry for entry in self.real.list(prefix) if entry.key not in hidden)
        return heapq.merge(real, written, key=attrgetter("key"))

    def children(self, prefix: str) -> Iterator[Entry]:
        """Yield the entries of :meth:`Browsable.children`."""
        if not isinstance(self.real, Browsable):
            yield from _direct(self.list(prefix), prefix)
            return
        written = {entry.key: entry for entry in _direct(self._changed(prefix), prefix)}
        gone = self._gone(prefix)
        real = {
            entry.key: entry for entry in self.real.children(prefix) if self._is_left(entry, gone)
        }
        yield from sorted({**real, **written}.values(), key=attrgetter("key"))

    def sizes(self, prefix: str) -> Iterator[tuple[str, int]]:
        return ((entry.key, entry.size) for entry in self.list(prefix))

    def stat(self, key: str) -> Entry | None:
        found = self._scratch.stat(self._written + key)
        if found is not None:
            return self._named(found)
        return None if self._is_gone(key) else self.real.stat(key)

    def open(self, key: str) -> BinaryIO:
        if self._scratch.stat(self._written + key) is not None:
            return self._scratch.open(self._written + key)
        if self._is_gone(key):
            raise NotFound("object", key)
        return self.real.open(key)

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        found = self._scratch.read(self._written + key, start, size)
        if found is not None:
            return found
        return None if self._is_gone(key) else self.real.read(key, start, size)

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        return self._named(self._scratch.write(self._written + key, data))

    def create(self, key: str, data: bytes) -> bool:
        return self.stat(key) is None and self._scratch.create(self._written + key, data)

    def copy(self, key: str, to: str, etag: str = "") -> Entry:
        found = self.stat(key)
        if etag and found is not None and found.etag != etag:
            raise Changed.from_key("store.replaced_before_copy", key=key)
        with self.open(key) as file:
            return self.write(to, file)

    def delete(self, key: str) -> None:
        # The mark is written first, so that no process finds the real object in between.
        if self.real.stat(key) is not None:
            self._scratch.write(f"{self._removed}{key}{_MARK}", b"")
        self._scratch.delete(self._written + key)

    def _changed(self, prefix: str) -> Sequence[Entry]:
        return [self._named(entry) for entry in self._scratch.list(self._written + prefix)]

    def _named(self, entry: Entry) -> Entry:
        key = entry.key.removeprefix(self._written)
        return Entry(key, entry.size, entry.etag, entry.modified)

    def _gone(self, prefix: str) -> set[str]:
        """Return the keys of the real objects that were removed."""
        begin = len(self._removed)
        found = self._scratch.list(self._removed + prefix)
        return {entry.key[begin:].removesuffix(_MARK) for entry in found}

    def _is_gone(self, key: str) -> bool:
        return self._scratch.stat(f"{self._removed}{key}{_MARK}") is not None

    def _is_left(self, entry: Entry, gone: set[str]) -> bool:
        if not entry.key.endswith("/") or not any(key.startswith(entry.key) for key in gone):
            return entry.key not in gone
        return any(left.key not in gone for left in self.real.list(entry.key))


def _direct(entries: Iterable[Entry], prefix: str) -> Iterator[Entry]:
    """Yield the entries directly below ``prefix``; each subfolder is one entry."""
    last = ""
    for entry in entries:
        name, slash, _ = entry.key[len(prefix) :].partition("/")
        folder = f"{prefix}{name}/"
        if not slash:
            yield entry
        elif folder != last:
            yield Entry(folder, 0, "")
            last = folder
