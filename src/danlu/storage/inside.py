"""Walking below a directory without ever leaving it: by descriptors, not by names.

What a name leads to may change between looking and opening; what a descriptor holds does not.
"""

import contextlib
import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
CHUNK = 1 << 20
# Bytes to one write. By the length of a write Linux chooses how large a block of memory it caches
# the file in, and a virtual machine has given its largest free ones back to its host: to get them
# again costs five times what the copy into them does.
_WRITE = 256 << 10
DEEPEST = 200  # folders in each other that are looked into
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


def real_path(handle: int, name: str | Path) -> str:
    """Return where an open file really lies."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:  # no /proc: the name is the best that is left
        return os.path.realpath(name)


def contains(root: str, path: str) -> bool:
    """Tell whether ``path`` is ``root`` or below it; both must be real paths."""
    return path == root or path.startswith(root.rstrip("/") + "/")


class Below:
    """Makes folders and files below ``root``, which must exist; follows no link on the way.

    Steps must be names, not paths. Not for several threads.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = os.open(root, FOLDER)
        self._at: tuple[str, ...] = ()
        self._open = self._root

    def __enter__(self) -> "Below":
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        os.close(self._root)

    def folder(self, steps: Sequence[str]) -> int:
        """Return a descriptor of a folder, made where it is missing; good until the next call.

        Raises:
            OSError: NotADirectoryError or ELOOP where a file or a link is in the way.
        """
        wanted = tuple(steps)
        if wanted != self._at:
            self._leave()
            self._open, self._at = self._descend(wanted), wanted
        return self._open

    def _descend(self, steps: tuple[str, ...]) -> int:
        at = self._root
        for step in steps:
            before = at
            try:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=before)
                at = os.open(step, FOLDER | os.O_NOFOLLOW, dir_fd=before)
            finally:
                if before != self._root:
                    os.close(before)
        return at

    def _leave(self) -> None:
        if self._open != self._root:
            os.close(self._open)
        self._open, self._at = self._root, ()


def make_read_only(folder: Path) -> None:
    """Take the right to write from all files and folders below ``folder``, and from itself."""
    for path, folders, files in os.walk(folder, topdown=False):
        for name in files:
            file = os.path.join(path, name)
            os.chmod(file, os.stat(file).st_mode & 0o111 | 0o444)
        for name in folders:
            os.chmod(os.path.join(path, name), 0o555)
    os.chmod(folder, 0o555)


@contextlib.contextmanager
def closing(handle: int) -> Iterator[int]:
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Let a full disk say which file could not be written: ``write`` itself does not know."""
    try:
        yield
    except OSError as error:
        if error.errno in DISK_FULL and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def write_all(handle: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view[:_WRITE]) :]


def write_at(handle: int, data: bytes | memoryview, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(handle, view[:_WRITE], at)
        view, at = view[written:], at + written


@runtime_checkable
class Pourable(Protocol):
    """What writes itself into a file, in whatever order."""

    def pour(self, handle: int) -> None: ...


def write_from(handle: int, data: bytes | memoryview | BinaryIO) -> None:
    """Write bytes, or all that a stream gives."""
    if isinstance(data, bytes | memoryview):
        write_all(handle, data)
        return
    if isinstance(data, Pourable):
        data.pour(handle)
        return
    while piece := data.read(CHUNK):
        write_all(handle, piece)
