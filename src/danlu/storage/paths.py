"""Objects by path, as scripts see them: the one place that says what a directory in a bucket is.

    A prefix with at least one object below it is a directory, and so is a bucket. An empty
    directory is an empty object whose key ends in '/'. ``x`` and ``x/`` may both be there: a
    path that ends in '/' means the directory only. What is looked for is found under other
    spellings of its key too (``paths_keys``); what is written has exactly its key.

Paths are ``obs://bucket/key`` (s3, ks3, cos) as text, bytes or path objects. What the ``os``
module raises is raised here: FileNotFoundError, IsADirectoryError, NotADirectoryError. What a
service refuses is a StorageError.
"""

import errno
import itertools
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.storage.paths_browse import Child as Child
from danlu.storage.paths_browse import browse
from danlu.storage.paths_file import ObjectFile, ReadFile
from danlu.storage.paths_glob import Matcher
from danlu.storage.paths_keys import folders, spellings
from danlu.storage.paths_place import Path as Path
from danlu.storage.paths_place import (
    bucket_is_there,
    entry_at,
    file_key,
    folder_at,
    holds,
    is_bucket,
    missing,
    no_directory,
    no_file,
    place,
    refuse_bucket,
    same_bucket,
)
from danlu.storage.paths_place import is_remote as is_remote
from danlu.storage.paths_place import stores as stores
from danlu.storage.paths_place import text as text
from danlu.storage.paths_place import use as use

_TOGETHER = 16  # requests on their way where many objects are removed or moved


@dataclass(frozen=True)
class Status:
    """What is at a path; ``mtime_ns`` is 0 where the store does not tell."""

    size: int
    mtime_ns: int
    is_directory: bool


def exists(path: Path) -> bool:
    location = place(path)
    return entry_at(location) is not None or folder_at(location) is not None


def is_directory(path: Path) -> bool:
    return folder_at(place(path)) is not None


def is_file(path: Path) -> bool:
    return entry_at(place(path)) is not None


def stat(path: Path) -> Status:
    """Return what is there; of a file and a directory of one name, the file."""
    location = place(path)
    if entry := entry_at(location):
        return Status(entry.size, entry.modified, False)
    prefix = folder_at(location)
    if prefix is None:
        raise missing(location)
    mark = location.storage.stat(prefix) if prefix else None
    return Status(0, mark.modified if mark else 0, True)


def scan(path: Path) -> list[Child]:
    """Return what is directly in a directory, by name."""
    location = place(path)
    there = is_bucket(location) and bucket_is_there(location.storage)
    for prefix in folders(location.key):
        found = browse(location.storage, prefix)
        if found:
            return found
        there = there or found is not None
    if there:
        return []
    raise no_directory(location)


def list_directory(path: Path) -> list[str]:
    """Return the names in a directory, each once, sorted; none ends in '/'."""
    return sorted({child.name for child in scan(path)})


def objects(path: Path) -> Iterator[tuple[str, Entry]]:
    """Yield every object below a directory by its path relative to it, from one listing.

    Marks of directories are among them, and end in '/'.
    """
    location = place(path)
    there = filled = False
    for prefix in folders(location.key):
        for entry in location.storage.list(prefix):
            there = True
            if relative := entry.key[len(prefix) :].lstrip("/"):
                filled = True
                yield relative, entry
        if filled:
            return
    if not there and not (is_bucket(location) and bucket_is_there(location.storage)):
        raise no_directory(location)


def walk(path: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each directory from the top, with names of directories and of files in it."""
    top = text(path)
    found = scan(top)
    inner = [child.name for child in found if child.is_directory]
    yield top, inner, [child.name for child in found if not child.is_directory]
    for name in inner:
        yield from walk(f"{top.rstrip('/')}/{name}")


def glob(pattern: Path, *, recursive: bool = False, hidden: bool = False) -> list[str]:
    """Return the paths that match, sorted: ``*``, ``?``, ``[…]``, and ``**`` where recursive."""
    return Matcher(scan, exists, recursive, hidden).paths(text(pattern))


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are not there; what is there stays."""
    location = place(path)
    prefix = folders(location.key)[-1]
    wanted: list[str] = []
    while prefix and not holds(location.storage, prefix):
        wanted.append(prefix)
        above = prefix[:-1].rpartition("/")[0]
        prefix = f"{above}/" if above else ""
    for mark in reversed(wanted):
        location.storage.write(mark, b"")
    if is_bucket(location) and isinstance(location.storage, FileStorage):
        location.storage.make_root()


def remove(path: Path) -> None:
    """Remove one file; a directory of the same name stays."""
    location = place(path)
    entry = entry_at(location)
    if entry is None:
        raise no_file(location)
    location.storage.delete(entry.key)


def remove_directory(path: Path) -> None:
    """Remove an empty directory."""
    location = place(path)
    if scan(location.uri):
        raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), location.uri)
    refuse_bucket(location)
    for prefix in folders(location.key):
        location.storage.delete(prefix)


def remove_tree(path: Path) -> int:
    """Remove a directory and all below it; return how many objects that were.

    A file of the same name stays. A whole bucket is refused.
    """
    location = place(path)
    refuse_bucket(location)
    prefix = folder_at(location)
    if prefix is None:
        raise no_directory(location)
    keys = [entry.key for entry in location.storage.list(prefix)]
    _delete(location.storage, keys)
    return len(keys)


def copy(source: Path, target: Path) -> Entry:
    """Copy one file; where the bytes lie, if both paths are in one bucket."""
    origin, location = place(source), place(target)
    entry = entry_at(origin)
    if entry is None:
        raise no_file(origin)
    return copy_object(origin.storage, entry, location.storage, file_key(location))


def copy_object(source: Storage, entry: Entry, target: Storage, key: str) -> Entry:
    """Copy an object between storages, and see that all of it arrived."""
    if same_bucket(source, target):
        stored = source.copy(entry.key, key) if entry.key != key else entry
    else:
        with source.open(entry.key) as stream:
            stored = target.write(key, stream)
    if stored.size != entry.size:
        raise StorageError(
            f"Of the object {entry.key!r}, {stored.size} bytes of {entry.size} arrived at {key!r}.",
            hint="It may have been replaced meanwhile: copy it again.",
        )
    return stored


def rename(source: Path, target: Path) -> None:
    """Move a file, or a directory with all below it; what has that name already is replaced.

    The source goes only when everything is at its new place.
    """
    origin, location = place(source), place(target)
    if entry := entry_at(origin):
        _move(origin, [(entry, file_key(location))], location)
        return
    prefix = folder_at(origin)
    if prefix is None:
        raise missing(origin)
    refuse_bucket(origin)
    to = f"{location.key.rstrip('/')}/".lstrip("/")
    if same_bucket(origin.storage, location.storage) and to.startswith(prefix) and to != prefix:
        raise OSError(errno.EINVAL, "A directory cannot be moved into itself", origin.uri)
    found = list(origin.storage.list(prefix))
    _move(origin, [(entry, to + entry.key[len(prefix) :]) for entry in found], location)


def _move(origin: Location, moves: list[tuple[Entry, str]], to: Location) -> None:
    same = same_bucket(origin.storage, to.storage)
    wanted = [(entry, key) for entry, key in moves if key and not (same and key == entry.key)]
    _each(lambda move: copy_object(origin.storage, move[0], to.storage, move[1]), wanted)
    _delete(origin.storage, [entry.key for entry, _ in wanted])


def open_read(path: Path) -> ReadFile:
    """Open a file to read, seekable; of large ones the next blocks are fetched ahead."""
    location = place(path)
    for key in () if not location.key or location.key.endswith("/") else spellings(location.key):
        try:
            return ReadFile(location.storage.open(key), location.uri)
        except NotFound:
            continue
    raise no_file(location)


def open_write(path: Path, *, append: bool = False) -> ObjectFile:
    """Open a file to write; others see what it holds at every flush and when it is closed."""
    return open_edit(path, "ab" if append else "wb")


def open_edit(path: Path, mode: str) -> ObjectFile:
    """Open a file in a binary mode that writes: wb, ab, xb, and r+b, w+b, a+b, x+b."""
    location = place(path)
    key = file_key(location)
    entry = entry_at(location) if mode[0] in "rax" else None
    if mode[0] == "r" and entry is None:
        raise no_file(location)
    if mode[0] == "x" and entry is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), location.uri)
    if entry is not None:
        key = entry.key
    return ObjectFile(location.storage, key, location.uri, mode, load=entry is not None)


def _delete(storage: Storage, keys: list[str]) -> None:
    """Remove objects, marks of directories last and from below.

    A service that keeps directories as such (SeaweedFS 4) shows one a while longer that was not
    empty when its mark went.
    """
    _each(storage.delete, [key for key in keys if not key.endswith("/")])
    marks = sorted((key for key in keys if key.endswith("/")), key=_depth, reverse=True)
    for _, level in itertools.groupby(marks, _depth):
        _each(storage.delete, level)


def _depth(key: str) -> int:
    return key.count("/")


def _each(action: Callable[..., object], items: Iterable[object]) -> None:
    """Do this with all items, several at a time; the first failure is raised when all are done."""
    waiting = list(items)
    if len(waiting) < 2:
        for item in waiting:
            action(item)
        return
    with ThreadPoolExecutor(_TOGETHER, "danlu-paths") as pool:
        for done in [pool.submit(action, item) for item in waiting]:
            done.result()
