"""Access to a directory tree without leaving it, through descriptors instead of names.

The target of a name may change between a check and the open. An open descriptor does not change.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol, runtime_checkable

from danlu.job.status import Disk

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
CHUNK = 1 << 20
# Max bytes per write. Linux chooses the size of its page cache blocks by the length of a write. A
# virtual machine returns its largest free blocks to its host. Getting them back takes five times
# as long as copying the data into them.
_WRITE = 256 << 10
MAX_DEPTH = 200  # max depth of nested folders
NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)


def real_path(handle: int, name: str | Path) -> str:
    """Return the real path of an open file."""
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:  # without /proc, fall back to the name
        return os.path.realpath(name)


def disk_of(path: str) -> Disk:
    """Return the disk of a path, which need not exist."""
    place = os.path.realpath(path)
    while not os.path.exists(place):
        place = os.path.dirname(place)
    found = os.statvfs(place)
    while not os.path.ismount(place):
        place = os.path.dirname(place)
    # Some file systems have no limit on files and report 0.
    return Disk(place, found.f_bavail * found.f_frsize, found.f_favail if found.f_files else -1)


def contains(root: str, path: str) -> bool:
    """Return True if ``path`` is ``root`` or below it. Both must be real paths."""
    return path == root or path.startswith(root.rstrip("/") + "/")


class SafeDirectory:
    """An open directory ``root`` for creating folders and files below it without following links.

    ``root`` must exist. Steps must be names, not paths. Not thread-safe.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = os.open(root, OPEN_FOLDER)
        self._at: tuple[str, ...] = ()
        self._open = self._root

    def __enter__(self) -> "SafeDirectory":
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        os.close(self._root)

    def folder(self, steps: Sequence[str]) -> int:
        """Return a descriptor of a folder, and create the folder if it is missing.

        The descriptor is valid until the next call.

        Raises:
            OSError: NotADirectoryError or ELOOP if a part of the path is a file or a link.
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
                at = os.open(step, OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=before)
            finally:
                if before != self._root:
                    os.close(before)
        return at

    def _leave(self) -> None:
        if self._open != self._root:
            os.close(self._open)
        self._open, self._at = self._root, ()


def make_read_only(folder: Path) -> None:
    """Remove the write permission from ``folder`` and from all files and folders below it."""
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
    """Add the file name to the OSError of a full disk, because ``write`` does not set it."""
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
class FileWritable(Protocol):
    """An object that writes itself to a file, in any order."""

    def write_to(self, handle: int) -> None: ...


def write_from(handle: int, data: bytes | memoryview | BinaryIO) -> None:
    """Write bytes, or the rest of a stream."""
    if isinstance(data, bytes | memoryview):
        write_all(handle, data)
        return
    if isinstance(data, FileWritable):
        data.write_to(handle)
        return
    while piece := data.read(CHUNK):
        write_all(handle, piece)


Step = tuple[str, list[str], list[str]]


def walk(top: str | os.PathLike[str], deepest: int | None = None) -> Iterator[Step]:
    """Yield path, folders and files as ``os.walk`` does, each folder before its subfolders.

    Links to folders are listed as folders but not followed. Unreadable folders and folders more
    than ``deepest`` levels down are skipped. The caller may modify the list of folders.
    """
    waiting = [(os.fspath(top), 0)]
    while waiting:
        path, depth = waiting.pop()
        found = _entries(path)
        if found is None:
            continue
        folders, files, links = found
        yield path, folders, files
        if deepest is None or depth < deepest:
            inner = (os.path.join(path, name) for name in reversed(folders) if name not in links)
            waiting += [(folder, depth + 1) for folder in inner]


def walk_up(top: str | os.PathLike[str]) -> Iterator[Step]:
    """Yield the items of :func:`walk`, each folder after its subfolders."""
    return reversed(list(walk(top)))


def _entries(path: str) -> tuple[list[str], list[str], set[str]] | None:
    folders, files, links = [], [], set()
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if _is_folder(entry):
                    folders.append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
                else:
                    files.append(entry.name)
    except OSError:
        return None  # removed, no permission, or a path that is too long for the kernel
    return folders, files, links


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


_NO_LINK = OPEN_FOLDER | os.O_NOFOLLOW


def remove_tree(folder: Path) -> None:
    """Remove a directory tree, read-only or not. Links are removed, not followed.

    A missing directory is not an error. Two callers may remove the same folder at the same time.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
            return
        with contextlib.suppress(PermissionError):
            os.chmod(folder, 0o700)
        while not _emptied(folder):
            continue


def _emptied(folder: Path) -> bool:
    """Empty a folder and remove it.

    Return False if another caller has created something in it in the meantime.
    """
    top = os.open(folder, _NO_LINK)
    try:
        while inner := list(_unlink_files(top)):
            for name in inner:
                _pull_up(top, name)
    finally:
        os.close(top)
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        raise
    return True


def _unlink_files(folder: int) -> Iterator[str]:
    """Remove the files of a folder and yield the names of its subfolders."""
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                yield entry.name
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=folder)


def _pull_up(top: int, name: str) -> None:
    """Remove one folder of ``top``: delete its files and move its subfolders to ``top``."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(name, 0o700, dir_fd=top)
        handle = os.open(name, _NO_LINK, dir_fd=top)
        try:
            for inner in list(_unlink_files(handle)):
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(inner, 0o700, dir_fd=handle)  # a folder must be writable to be moved
                    os.rename(inner, secrets.token_hex(8), src_dir_fd=handle, dst_dir_fd=top)
        finally:
            os.close(handle)
        try:
            os.rmdir(name, dir_fd=top)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # filled by another caller; tried again
                raise
