"""File and directory operations on objects by path, for scripts.

This module defines what a directory in a bucket is:

    A prefix with at least one object below it is a directory. A bucket is a directory. An empty
    directory is an empty object with a key that ends in '/'. ``x`` and ``x/`` may both exist. A
    path that ends in '/' refers only to the directory. Existing objects are also found under
    other spellings of their key (``paths_lookup.spellings``). The key of a new object has no
    empty parts.

Paths are ``obs://bucket/key`` (s3, ks3, cos) as str, bytes or path objects. The functions raise
the exceptions of the ``os`` module: FileNotFoundError, IsADirectoryError, NotADirectoryError. An
error of the service raises StorageError.
"""

import errno
import fnmatch
import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Browsable, Entry, Storage
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.storage.paths_file import ObjectFile, ReadFile
from danlu.storage.paths_lookup import Path as Path
from danlu.storage.paths_lookup import (
    bucket_is_there,
    entry_at,
    file_key,
    folder_at,
    folders,
    holds,
    is_bucket,
    missing,
    no_directory,
    no_file,
    place,
    refuse_bucket,
    same_bucket,
    spellings,
)
from danlu.storage.paths_lookup import guarded as guarded
from danlu.storage.paths_lookup import is_remote as is_remote
from danlu.storage.paths_lookup import stores as stores
from danlu.storage.paths_lookup import text as text
from danlu.storage.paths_lookup import use as use


@dataclass(frozen=True)
class Child:
    """An entry of a directory. A file and a directory may have the same name."""

    name: str
    is_directory: bool
    size: int = 0
    modified: int = 0  # nanoseconds since 1970; 0: not known


def browse(storage: Storage, prefix: str) -> list[Child] | None:
    """Return the entries directly below ``prefix``, sorted by name.

    Return None if there is no such directory. Empty parts of keys are ignored: an object with the
    key ``out//model`` is the entry ``model`` of ``out``.
    """
    found: dict[tuple[str, bool], Child] = {}
    there = False
    waiting = [prefix]
    while waiting:
        folder = waiting.pop()
        for entry in children(storage, folder):
            there = True
            name = entry.key[len(folder) :]
            if name == "/":
                waiting.append(entry.key)
            elif name:
                child = _child(name, entry)
                found.setdefault((child.name, child.is_directory), child)
    return [found[key] for key in sorted(found)] if there else None


def children(storage: Storage, prefix: str) -> Iterator[Entry]:
    """Yield the entries of :meth:`Browsable.children` for any storage."""
    if isinstance(storage, Browsable):
        yield from storage.children(prefix)
        return
    last = ""
    for entry in storage.list(prefix):
        name, slash, _ = entry.key[len(prefix) :].partition("/")
        folder = f"{prefix}{name}/"
        if not slash:
            yield entry
        elif folder != last:
            yield Entry(folder, 0, "")
            last = folder


def _child(name: str, entry: Entry) -> Child:
    if name.endswith("/"):
        return Child(name[:-1], True)
    return Child(name, False, entry.size, entry.modified)


_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Matcher:
    """A matcher for patterns ``scheme://bucket/part/part``. The bucket is not a pattern.

    ``hidden``: ``*`` also matches names that begin with a dot, as in TensorFlow but not in Python.
    """

    scan: Callable[[str], list[Child]]
    exists: Callable[[str], bool]
    recursive: bool
    hidden: bool

    def paths(self, pattern: str) -> list[str]:
        """Return the matching paths, sorted and without duplicates."""
        scheme, _, rest = pattern.partition("://")
        bucket, *parts = rest.split("/")
        return sorted(set(self._below(f"{scheme}://{bucket}", parts, sure=False)))

    def _below(self, path: str, parts: list[str], *, sure: bool) -> Iterator[str]:
        """Yield the matches of ``parts`` below ``path``. ``sure``: ``path`` is known to exist."""
        while parts and not _MAGIC.search(parts[0]):
            path, parts, sure = f"{path}/{parts[0]}", parts[1:], False
        if not parts:
            if sure or self.exists(path):
                yield path
            return
        part, rest = parts[0], parts[1:]
        if self.recursive and part == "**":
            yield from self._deeply(path, rest)
            return
        for child in self._children(path, directories_only=bool(rest)):
            if fnmatch.fnmatchcase(child.name, part) and self._shown(child.name, part):
                yield from self._below(f"{path}/{child.name}", rest, sure=True)

    def _deeply(self, path: str, rest: list[str]) -> Iterator[str]:
        """Match ``rest`` in ``path`` and in every directory below.

        If ``rest`` is empty, match everything.
        """
        if not rest:
            yield f"{path}/"
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            if rest:
                yield from self._below(folder, rest, sure=True)
            for child in self._children(folder, directories_only=bool(rest)):
                if not self._shown(child.name, "**"):
                    continue
                if child.is_directory:
                    waiting.append(f"{folder}/{child.name}")
                if not rest:
                    yield f"{folder}/{child.name}"

    def _children(self, path: str, *, directories_only: bool) -> list[Child]:
        try:
            found = self.scan(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [child for child in found if child.is_directory or not directories_only]

    def _shown(self, name: str, part: str) -> bool:
        return self.hidden or part.startswith(".") or not name.startswith(".")


_TOGETHER = 16  # concurrent requests when many objects are removed or moved


@dataclass(frozen=True)
class Status:
    """The status of a path. ``mtime_ns`` is 0 if unknown."""

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
    """Return the status of a path. If both a file and a directory exist, the file is used."""
    location = place(path)
    if entry := entry_at(location):
        return Status(entry.size, entry.modified, False)
    prefix = folder_at(location)
    if prefix is None:
        raise missing(location)
    mark = location.storage.stat(prefix) if prefix else None
    return Status(0, mark.modified if mark else 0, True)


def scan(path: Path) -> list[Child]:
    """Return the entries of a directory, sorted by name."""
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
    """Return the names in a directory, sorted, without duplicates and without a final '/'."""
    return sorted({child.name for child in scan(path)})


def objects(path: Path) -> Iterator[tuple[str, Entry]]:
    """Yield the relative path and entry of every object below a directory, from one listing.

    Marker objects of directories are included. Their paths end in '/'.
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
    """Yield each directory from the top, with the names of its subdirectories and files."""
    top = text(path)
    found = scan(top)
    inner = [child.name for child in found if child.is_directory]
    yield top, inner, [child.name for child in found if not child.is_directory]
    for name in inner:
        yield from walk(f"{top.rstrip('/')}/{name}")


def glob(pattern: Path, *, recursive: bool = False, hidden: bool = False) -> list[str]:
    """Return the matching paths, sorted.

    Patterns are ``*``, ``?``, ``[…]`` and, if ``recursive`` is true, ``**``.
    """
    return Matcher(scan, exists, recursive, hidden).paths(text(pattern))


def make_directories(path: Path) -> None:
    """Create a directory and its missing parents. Existing directories stay unchanged."""
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
    """Remove one file. A directory of the same name is kept."""
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
    """Remove a directory tree. Return the number of removed objects.

    A file of the same name is kept. A whole bucket is refused.
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
    """Copy one file, on the server side if both paths are in the same bucket."""
    origin, location = place(source), place(target)
    entry = entry_at(origin)
    if entry is None:
        raise no_file(origin)
    return copy_object(origin.storage, entry, location.storage, file_key(location))


def copy_object(source: Storage, entry: Entry, target: Storage, key: str) -> Entry:
    """Copy an object between storages, and check the size of the copy."""
    if same_bucket(source, target):
        stored = source.copy(entry.key, key) if entry.key != key else entry
    else:
        with source.open(entry.key) as stream:
            stored = target.write(key, stream)
    if stored.size != entry.size:
        raise StorageError.from_key(
            "store.copied_partly", key=entry.key, size=stored.size, size2=entry.size, key2=key
        )
    return stored


def rename(source: Path, target: Path) -> None:
    """Move a file or a directory tree, replacing existing objects at the target.

    The source is removed only after everything has been copied.
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
    """Open a file for reading, seekable. The next blocks of large files are prefetched."""
    location = place(path)
    for key in () if not location.key or location.key.endswith("/") else spellings(location.key):
        try:
            return ReadFile(location.storage.open(key), location.uri)
        except NotFound:
            continue
    raise no_file(location)


def open_write(path: Path, *, append: bool = False) -> ObjectFile:
    """Open a file for writing. The object is stored at every flush and on close."""
    return open_edit(path, "ab" if append else "wb")


def open_edit(path: Path, mode: str) -> ObjectFile:
    """Open a file in a binary write mode: wb, ab, xb, r+b, w+b, a+b or x+b."""
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
    """Remove objects. Marker objects of directories are removed last, deepest first.

    SeaweedFS 4 has real directories. If the marker of a non-empty directory is removed, the
    service lists the directory for some time.
    """
    _each(storage.delete, [key for key in keys if not key.endswith("/")])
    marks = sorted((key for key in keys if key.endswith("/")), key=_depth, reverse=True)
    for _, level in itertools.groupby(marks, _depth):
        _each(storage.delete, level)


def _depth(key: str) -> int:
    return key.count("/")


def _each(action: Callable[..., object], items: Iterable[object]) -> None:
    """Call ``action`` with every item in parallel. Raise the first error after all are done."""
    waiting = list(items)
    if len(waiting) < 2:
        for item in waiting:
            action(item)
        return
    with ThreadPoolExecutor(_TOGETHER, "danlu-paths") as pool:
        for done in [pool.submit(action, item) for item in waiting]:
            done.result()
