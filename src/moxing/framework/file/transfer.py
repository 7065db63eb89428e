"""The copy engine of ``mox.file``.

Files are copied in parallel. The size of each upload and download is verified. A file appears at
its target complete or not at all.
"""

import contextlib
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import BinaryIO, cast

from danlu.errors import DanluError, StorageError
from danlu.storage import paths
from danlu.storage.api import Entry, matches
from danlu.storage.folders import DISK_FULL, write_from
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.storage.names import temporary
from danlu.storage.paths_lookup import place as location_of
from danlu.storage.paths_lookup import written
from danlu.storage.transfer.download import RangedDownload, RangeReadable, should_use_ranges
from moxing.framework.file import trees
from moxing.framework.file.errors import MoxFileRespException, Response, refusal
from moxing.framework.file.trees import Item
from moxing.framework.file.where import joined

log = logging.getLogger("moxing")

TRIES = 3
_SETTLED = 60 * 10**9  # nanoseconds; clocks differ


@dataclass(frozen=True)
class Side:
    """The source or target of a copy; ``location`` is None for a local path."""

    root: str
    location: Location | None
    single: bool = False  # root is the file itself

    @property
    def remote(self) -> bool:
        return self.location is not None

    def as_file(self) -> "Side":
        return replace(self, single=True)

    def path(self, item: Item) -> str:
        return joined(self.root, item.path) if item.path else self.root

    def key(self, item: Item) -> str:
        """Return the key of an item on this side; its relative path is kept unchanged."""
        location = cast("Location", self.location)
        return location.key if self.single else location.prefix + item.path

    def named(self, name: str) -> Iterator[Item]:
        return trees.named(self.root, self.remote, name)

    def make_directories(self) -> None:
        if self.remote:
            paths.make_directories(self.root)
        else:
            os.makedirs(self.root, exist_ok=True)


def side(path: str, remote: bool) -> Side:
    return Side(path, written(location_of(path)) if remote else None)


def run(items: list[Item], start: Side, end: Side, *, threads: int) -> None:
    """Copy all items.

    Raises:
        OSError, DanluError: the only file could not be copied.
        OSError: the disk is full.
        MoxFileRespException: some of several files could not be copied; the message names them.
    """
    if start.remote and not end.remote and not end.single:
        items = trees.as_disk(items, start.root)
    known = _at_target(end) if len(items) > 1 else {}

    def attempt(item: Item) -> "OSError | DanluError | None":
        return _attempt(lambda: _copy(item, start, end, known))

    if threads == 0 or len(items) < 2:
        faults = [attempt(item) for item in items]
    else:
        with ThreadPoolExecutor(threads, "mox-copy") as pool:
            faults = list(pool.map(attempt, items))
    failed = [(item.path, fault) for item, fault in zip(items, faults, strict=True) if fault]
    if failed:
        raise _failure(failed, len(items), start, end)


def _attempt(action: Callable[[], None]) -> "OSError | DanluError | None":
    """Run ``action`` up to ``TRIES`` times; return the last error, or None.

    Only storage errors are retried. The storage itself waits for the end of an outage.
    """
    for left in reversed(range(TRIES)):
        try:
            action()
        except OSError as error:  # a local error would occur again
            return error
        except DanluError as error:
            if not left or not isinstance(error, StorageError):
                return error
        else:
            return None
    raise AssertionError("unreachable")


def _copy(item: Item, start: Side, end: Side, known: dict[str, Entry]) -> None:
    if item.is_folder:
        _make_folder(item, end)
    elif item.entry is None:
        _from_disk(item, start, end, known)
    else:
        storage = cast("Location", start.location).storage
        if end.location is not None:
            paths.copy_object(storage, item.entry, end.location.storage, end.key(item))
        else:
            _download(start, item.entry, end.path(item))


def _make_folder(item: Item, end: Side) -> None:
    if end.location is not None:
        end.location.storage.write(end.key(item), b"")
    else:
        os.makedirs(end.path(item), exist_ok=True)


def _from_disk(item: Item, start: Side, end: Side, known: dict[str, Entry]) -> None:
    source = start.path(item)
    if end.location is None:
        with _appearing(end.path(item)) as unfinished:
            shutil.copyfile(source, unfinished)
            shutil.copymode(source, unfinished)
        return
    key = end.key(item)
    with open(source, "rb") as file:
        there = known.get(key)
        if there and _same(file, there):
            return
        counted = _Counted(file)
        stored = end.location.storage.write(key, cast("BinaryIO", counted))
    if stored.size != counted.size:
        raise StorageError.from_key("moxing.arrived", size=stored.size, size2=counted.size, key=key)


def _download(start: Side, entry: Entry, target: str) -> None:
    """Download an object, unless ``target`` is already a copy of it.

    A download gives the file the modification time of the object. A copy has the same time and
    size.
    """
    if _is_copy(target, entry):
        return
    storage = cast("Location", start.location).storage
    with _appearing(target) as unfinished:
        with open(unfinished, "w+b") as file:
            if should_use_ranges(storage, entry):
                RangedDownload(cast("RangeReadable", storage), entry).write_to(file.fileno())
            else:
                with storage.open(entry.key) as source:
                    write_from(file.fileno(), source)
            size = os.fstat(file.fileno()).st_size
        if size != entry.size:
            raise StorageError.from_key("moxing.came", key=entry.key, size=size, size2=entry.size)
        if entry.modified:
            os.utime(unfinished, ns=(entry.modified, entry.modified))


def _is_copy(target: str, entry: Entry) -> bool:
    with contextlib.suppress(OSError):
        there = os.stat(target)
        if entry.modified and (there.st_size, there.st_mtime_ns) == (entry.size, entry.modified):
            # Services report whole seconds. An object that was new when it was copied may have
            # changed within the same second.
            return entry.modified % 10**9 != 0 or there.st_ctime_ns - entry.modified > _SETTLED
    return False


@contextlib.contextmanager
def _appearing(target: str) -> Iterator[str]:
    """Yield a temporary path; rename it to ``target`` if the block ends without an error."""
    folder = os.path.dirname(target)
    if folder:
        os.makedirs(folder, exist_ok=True)
    unfinished = os.path.join(folder, temporary(os.urandom(6).hex()))
    try:
        yield unfinished
        os.replace(unfinished, target)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)


def _at_target(end: Side) -> dict[str, Entry]:
    """Return the objects at the target by key.

    They may save uploads of unchanged files. Empty for local targets and for ``FileStorage``.
    """
    if end.location is None or isinstance(end.location.storage, FileStorage):
        return {}
    found = end.location.storage.list(end.location.prefix)
    return {entry.key: entry for entry in found}


def _same(file: BinaryIO, there: Entry) -> bool:
    """Return True if an object has the content of a file, compared by size and etag."""
    same = os.fstat(file.fileno()).st_size == there.size and matches(file, there)
    file.seek(0)
    return same


class _Counted:
    """A file that counts the bytes read from it, because it may grow during the upload."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.size += len(data)
        return data


def _failure(
    failed: "list[tuple[str, OSError | DanluError]]", count: int, start: Side, end: Side
) -> BaseException:
    first = failed[0][1]
    if count == 1 or (isinstance(first, OSError) and first.errno in DISK_FULL):
        return first
    listed = [f"  {path}: {_sentence(fault)}" for path, fault in failed[:20]]
    more = [f"  and {len(failed) - 20} more"] if len(failed) > 20 else []
    text = f"{len(failed)} of {count} files were not copied from {start.root} to {end.root}:"
    answer = getattr(first if isinstance(first, OSError) else refusal(first), "resp", Response(500))
    return MoxFileRespException("\n".join([text, *listed, *more]), resp=answer)


def _sentence(fault: "OSError | DanluError") -> str:
    return fault.message if isinstance(fault, DanluError) else str(fault)
