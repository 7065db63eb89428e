"""Files that TensorFlow has open in object stores, by number.

What is read lies in a file of this machine (the embedded store), or comes by blocks. What is
written is a draft: a file of this machine without a name, which becomes an object when it is
flushed or closed. A process that is killed leaves no half object.
"""

import itertools
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable
from typing import BinaryIO

from danlu.storage import paths
from danlu.storage.paths_place import file_key, place

FLUSH, CLOSE, RELEASE, ABANDON = range(4)  # the order is that of shim.c
_CHUNK = 8 << 20
# Flushing a file stores all of it again. Beyond this size only when it has grown by an eighth:
# else a file of events would be sent a thousand times.
_ALWAYS = 64 << 20
# BundleWriter writes to such a name and renames when all is well; nobody else looks for it.
_TEMPORARY = re.compile(rb"\.tempstate\d+$")

_numbers = itertools.count(1)
_readers: "dict[int, Reader]" = {}
_drafts: "dict[int, Draft]" = {}
_waiting: "dict[bytes, Draft]" = {}  # closed under a temporary name, not stored yet


class Reader:
    """A file to read at any place; safe for several threads."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    @property
    def descriptor(self) -> int:
        try:
            return self._stream.fileno()
        except OSError:
            return -1

    def read_at(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` as far as the file goes; return how many bytes that were."""
        done = 0
        with self._lock:
            self._stream.seek(offset)
            while done < len(view):
                got = self._stream.readinto(view[done:])  # type: ignore[attr-defined]
                if not got:
                    break
                done += got
        return done

    def close(self) -> None:
        self._stream.close()

    def forked(self) -> None:
        self._lock = threading.Lock()  # a thread that is not here may have held it


class Draft:
    """Bytes on their way to an object; shim.c writes them by the descriptor."""

    def __init__(self, path: bytes, *, append: bool) -> None:
        location = place(path)
        self._storage, self._key = location.storage, file_key(location)
        self._file = tempfile.TemporaryFile(prefix="danlu-", buffering=0)  # noqa: SIM115
        self._stored = -1  # how many bytes the object has; only ever more are written
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self.path = path
        if append and paths.is_file(path):
            with paths.open_read(path) as stream:
                shutil.copyfileobj(stream, self._file, _CHUNK)
            self._stored = self._size()

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def store(self, *, complete: bool) -> None:
        """Make the bytes visible; in a process that was forked from the writer's, do nothing."""
        with self._lock:
            if self.owner != os.getpid() or self._file.closed:
                return
            size = self._size()
            if size == self._stored or not (complete or self._is_worth(size)):
                return
            self._file.seek(0)
            self._storage.write(self._key, self._file)
            self._stored = size

    def move(self, path: bytes) -> None:
        location = place(path)
        self._storage, self._key, self.path = location.storage, file_key(location), path
        self._stored = -1

    def close(self) -> None:
        self._file.close()

    def forked(self) -> None:
        self._lock = threading.Lock()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _is_worth(self, size: int) -> bool:
        return size <= _ALWAYS or size - self._stored >= size // 8


def open_read(path: bytes) -> tuple[int, int]:
    """Return the number of the file, and its descriptor or -1."""
    opened = Reader(paths.open_read(path))
    number = next(_numbers)
    _readers[number] = opened
    return number, opened.descriptor


def reader(number: int) -> Reader:
    return _readers[number]


def open_write(path: bytes, *, append: bool) -> tuple[int, int]:
    draft = Draft(path, append=append)
    number = next(_numbers)
    _drafts[number] = draft
    return number, draft.descriptor


def settle(number: int, how: int) -> None:
    """Flush, close, let go of or throw away a file."""
    if opened := _readers.pop(number, None):
        opened.close()
        return
    draft = _drafts.get(number)
    if draft is None:
        return
    temporary = _TEMPORARY.search(draft.path) is not None
    if how == FLUSH:
        if not temporary:
            draft.store(complete=False)
        return
    del _drafts[number]  # whatever happens now: minutes of trying have passed when it fails
    if how == CLOSE and temporary:
        _waiting[draft.path] = draft
        return
    try:
        if how != ABANDON and not temporary:
            draft.store(complete=True)
    finally:
        draft.close()


def rename_draft(path: bytes, to: bytes) -> bool:
    """Store a waiting draft under its right name; False where none has this one."""
    draft = _waiting.pop(path, None)
    if draft is None:
        return False
    try:
        draft.move(to)
        draft.store(complete=True)
    finally:
        draft.close()
    return True


def drop_draft(path: bytes) -> bool:
    """Throw a waiting draft away; False where none has this name."""
    draft = _waiting.pop(path, None)
    if draft is not None:
        draft.close()
    return draft is not None


def has_drafts() -> bool:
    """Tell whether this process, and not one it was forked from, has files open to write."""
    return any(draft.owner == os.getpid() for draft in _drafts.values())


def store_all(failed: Callable[[int], object]) -> list[BaseException]:
    """Store every draft that is open, unless it ``failed``; return what went wrong."""
    faults: list[BaseException] = []
    for number, draft in list(_drafts.items()):
        if _TEMPORARY.search(draft.path) or failed(number):
            continue
        try:
            draft.store(complete=True)
        except Exception as error:
            faults.append(error)
    return faults


def forked() -> None:
    for opened in (*_readers.values(), *_drafts.values(), *_waiting.values()):
        opened.forked()
