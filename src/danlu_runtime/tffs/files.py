"""Files in object stores that TensorFlow has open, by number.

A file opened for reading is a local file (embedded store) or is read in blocks. A file opened for
writing is a draft: an unnamed local file that becomes an object when it is flushed or closed. A
killed process leaves no incomplete object.
"""

import contextlib
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from io import BufferedReader

from danlu.storage import paths
from danlu.storage.paths_lookup import file_key, place
from danlu_runtime.tffs import shutdown

FLUSH, CLOSE, RELEASE, ABANDON = range(4)  # in the order of shim.c
_CHUNK = 8 << 20
# A flush stores the whole file again. Beyond this size it is done only after growth by an eighth.
_ALWAYS = 64 << 20
# Bytes per second. Some scripts flush an event file after each step. Beyond its first 4 KB it is
# uploaded at this average rate at most, and an early flush is stored a little later.
_EVENTS_RATE = 1 << 20
_EVENTS_ALWAYS = 4 << 10
# BundleWriter writes to such a name and renames it at the end. No other reader uses it.
_TEMPORARY = re.compile(rb"\.tempstate\d+$")

_numbers = itertools.count(1)
_readers: "dict[int, Reader]" = {}
_drafts: "dict[int, Draft]" = {}
_waiting: "dict[bytes, Draft]" = {}  # closed with a temporary name, not stored yet


class Reader:
    """A file for reading at any offset; thread-safe."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    @property
    def descriptor(self) -> int:
        try:
            return self._stream.fileno()
        except OSError:
            return -1

    def read_at(self, offset: int, view: memoryview) -> int:
        """Fill ``view`` from ``offset``; return the number of bytes read before the file ended."""
        done = 0
        with self._lock:
            self._stream.seek(offset)
            while done < len(view):
                got = self._stream.readinto(view[done:])
                if not got:
                    break
                done += got
        return done

    def close(self) -> None:
        self._stream.close()

    def forked(self) -> None:
        self._lock = threading.Lock()  # a thread that does not exist in the child may have held it


class Draft:
    """The bytes of an object being written; shim.c writes them through the descriptor."""

    def __init__(self, path: bytes, *, append: bool) -> None:
        location = place(path)
        self._storage, self._key = location.storage, file_key(location)
        self._file = shutdown.draft_file(path)
        self._stored = -1  # size of the stored object in bytes; the file only grows
        self.owner = os.getpid()
        self._lock = threading.Lock()
        self.path = path
        self._next = 0.0  # when an event file may be stored again
        self._timer: threading.Timer | None = None
        if append and paths.is_file(path):
            with paths.open_read(path) as stream:
                shutil.copyfileobj(stream, self._file, _CHUNK)
            self._stored = self._size()

    @property
    def descriptor(self) -> int:
        return self._file.fileno()

    def store(self, *, complete: bool) -> None:
        """Store the bytes as an object; do nothing in a process forked from the writer."""
        with self._lock:
            if self.owner != os.getpid() or self._file.closed:
                return
            size = self._size()
            if size == self._stored or not (complete or self._is_worth(size)):
                return
            self._file.seek(0)
            self._storage.write(self._key, self._file)
            self._stored = size
            self._next = time.monotonic() + max(0, size - _EVENTS_ALWAYS) / _EVENTS_RATE

    def move(self, path: bytes) -> None:
        location = place(path)
        self._storage, self._key, self.path = location.storage, file_key(location), path
        self._stored = -1

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._file.close()

    def forked(self) -> None:
        self._lock = threading.Lock()
        self._timer = None

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size

    def _is_worth(self, size: int) -> bool:
        if not shutdown.is_events(self.path):
            return size <= _ALWAYS or size - self._stored >= size // 8
        wait = self._next - time.monotonic()
        if wait > 0 and self._timer is None:
            self._timer = threading.Timer(wait, self._store_later)
            self._timer.daemon = True
            self._timer.start()
        return wait <= 0

    def _store_later(self) -> None:
        self._timer = None
        with contextlib.suppress(Exception):  # the next flush or close raises the error
            self.store(complete=True)


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
    """Flush, close, release or abandon a file."""
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
    del _drafts[number]  # removed even if storing fails, because that has been retried for minutes
    if how == CLOSE and temporary:
        _waiting[draft.path] = draft
        return
    try:
        if how != ABANDON and not temporary:
            draft.store(complete=True)
    finally:
        draft.close()


def rename_draft(path: bytes, to: bytes) -> bool:
    """Store a waiting draft under its final name; return False if ``path`` has none."""
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
    """Discard a waiting draft; return False if ``path`` has none."""
    draft = _waiting.pop(path, None)
    if draft is not None:
        draft.close()
    return draft is not None


def has_drafts() -> bool:
    """Return True if this process itself, not its parent before a fork, has files open to write."""
    return any(draft.owner == os.getpid() for draft in _drafts.values())


def store_all(failed: Callable[[int], object]) -> list[BaseException]:
    """Store every open draft, except those that ``failed``; return the errors."""
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
    opened: list[Reader | Draft] = [*_readers.values(), *_drafts.values(), *_waiting.values()]
    for each in opened:
        each.forked()
