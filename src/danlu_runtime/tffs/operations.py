"""File operations on object stores, as TensorFlow calls them."""

import concurrent.futures.thread  # noqa: F401
import errno
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from danlu.storage import paths
from danlu_runtime.tffs import files


@dataclass(frozen=True)
class Opened:
    """An open file; ``descriptor`` is a local one, or -1 if the bytes are in a store."""

    number: int
    descriptor: int


@dataclass(frozen=True)
class Numbers:
    """Size, modification time in nanoseconds, and 1 for a directory."""

    values: tuple[int, int, int]


class Names:
    """Strings for C, each terminated by a zero byte."""

    def __init__(self, names: Iterable[str]) -> None:
        encoded = [os.fsencode(name) for name in names]
        self.count = len(encoded)
        self.joined = b"\0".join([*encoded, b""])


def open_read(path: bytes, _: bytes) -> Opened:
    return Opened(*files.open_read(path))


def open_write(path: bytes, _: bytes) -> Opened:
    return Opened(*files.open_write(path, append=False))


def open_append(path: bytes, _: bytes) -> Opened:
    return Opened(*files.open_write(path, append=True))


def create_directory(path: bytes, _: bytes) -> None:
    if paths.exists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fsdecode(path))
    paths.make_directories(path)


def make_directories(path: bytes, _: bytes) -> None:
    if paths.is_directory(path):
        return
    if paths.is_file(path.rstrip(b"/")):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fsdecode(path))
    paths.make_directories(path)


def delete_file(path: bytes, _: bytes) -> None:
    if not files.drop_draft(path):
        paths.remove(path)


def delete_directory(path: bytes, _: bytes) -> None:
    paths.remove_directory(path)


def delete_tree(path: bytes, _: bytes) -> None:
    """Delete a directory tree or a file, as TensorFlow's own ``rmtree`` does."""
    if paths.is_directory(path):
        paths.remove_tree(path)
    else:
        paths.remove(path)


def rename(path: bytes, to: bytes) -> None:
    if not files.rename_draft(path, to):
        paths.rename(path, to)


def copy(path: bytes, to: bytes) -> None:
    if paths.is_directory(to) and not paths.is_file(to):
        to = to.rstrip(b"/") + b"/" + path.rpartition(b"/")[2]
    paths.copy(path, to)


def exists(path: bytes, _: bytes) -> None:
    if not paths.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))


def stat(path: bytes, _: bytes) -> Numbers:
    found = paths.stat(path)
    return Numbers((found.size, found.mtime_ns, int(found.is_directory)))


def is_directory(path: bytes, _: bytes) -> int:
    if paths.is_directory(path):
        return 1
    exists(path, b"")
    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), os.fsdecode(path))


def children(path: bytes, _: bytes) -> Names:
    return Names(paths.list_directory(path))


def matching(pattern: bytes, _: bytes) -> Names:
    # TensorFlow writes ``[^a]`` for ``[!a]``.
    return Names(paths.glob(pattern.replace(b"[^", b"[!"), hidden=True))


# In the order of shim.c.
OPERATIONS: tuple[Callable[[bytes, bytes], Any], ...] = (
    open_read,
    open_write,
    open_append,
    create_directory,
    make_directories,
    delete_file,
    delete_directory,
    delete_tree,
    rename,
    copy,
    exists,
    stat,
    is_directory,
    children,
    matching,
)
