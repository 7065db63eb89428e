"""Reading of the files of a folder while a script may write to them."""

import hashlib
import io
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from danlu.messages import get_message
from danlu.storage.folders import MAX_DEPTH, contains, real_path
from danlu.storage.names import RESERVED_FOLDER, is_temporary
from danlu.storage.transfer.parallel import ONE_REQUEST

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileVersion:
    """The attributes that change when a file is modified or replaced."""

    size: int
    mtime_ns: int
    inode: int


class FileChanged(Exception):
    """A file vanished, shrank or cannot be read now. The next upload pass tries it again."""


MAX_FILES = 1_000_000
MAX_LINKS = 1_000  # to folders; a few links to each other yield more paths than fit in memory


@dataclass
class Scan:
    """The result of a scan. ``refused``: messages on what was left out because of a limit."""

    files: dict[str, FileVersion] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)  # empty ones
    refused: dict[str, None] = field(default_factory=dict)
    links: int = 0

    def allows_entry(self, depth: int, *, link: bool) -> bool:
        """Return True if one more folder may be scanned. Otherwise add a message to ``refused``."""
        self.links += link
        if depth > MAX_DEPTH:
            self.refused[get_message("output.too_deep", max_depth=MAX_DEPTH)] = None
        elif self.links > MAX_LINKS and link:
            self.refused[get_message("output.too_many_links", most_links=MAX_LINKS)] = None
        elif len(self.files) >= MAX_FILES:
            self.refused[get_message("output.too_many_files", most_files=MAX_FILES)] = None
        else:
            return True
        return False


def scan(folder: str, *, warn: bool) -> Scan:
    """Return every file below ``folder``, a real path, and the empty folders.

    Links that lead outside are skipped. ``warn``: log them as warnings.
    """
    found = Scan()
    _scan(folder, "", (folder,), found, warn)
    return found


def _scan(path: str, at: str, above: tuple[str, ...], found: Scan, warn: bool) -> None:
    empty = True
    for entry in _entries(path):
        name = f"{at}{entry.name}"
        real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        if not contains(above[0], real) or real in above:
            level = logging.WARNING if warn else logging.DEBUG
            log.log(level, "skipped, the link leads out path=%r to=%r", entry.path, real)
            continue
        try:
            status = os.stat(real)
        except OSError:
            continue  # vanished, or a link to nothing
        if stat.S_ISDIR(status.st_mode):
            if found.allows_entry(len(above), link=entry.is_symlink()):
                _scan(real, f"{name}/", (*above, real), found, warn)
            empty = False
        elif stat.S_ISREG(status.st_mode):
            found.files[name] = seen(status)
            empty = False
    if empty and at:
        found.folders.append(at.rstrip("/"))


def _entries(path: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(path) as entries:
            yield from sorted(
                (entry for entry in entries if not _is_ours(entry.name)),
                key=lambda entry: entry.name,
            )
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_ours(name: str) -> bool:
    return is_temporary(name) or name == RESERVED_FOLDER


def seen(status: os.stat_result) -> FileVersion:
    return FileVersion(status.st_size, status.st_mtime_ns, status.st_ino)


class OutputReader(io.RawIOBase):
    """A reader of a file up to its size at opening, which computes the digest.

    Data that is appended later is ignored. Raises FileChanged if the file no longer exists, has
    become shorter, or is outside ``folder``, a real path, because of a link.
    """

    def __init__(self, folder: str, path: str) -> None:
        super().__init__()
        self._handle = -1
        self._path = os.path.join(folder, path)
        self._digest = hashlib.sha256()
        try:
            self._handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise FileChanged(f"{path}: {error.strerror}") from error
        status = os.fstat(self._handle)
        inside = contains(folder, real_path(self._handle, self._path))
        if not inside or not stat.S_ISREG(status.st_mode):
            self.close()
            raise FileChanged(get_message("output.not_a_file", path=path))
        self.seen = seen(status)
        self.on_read: Callable[[int], None] = lambda _: None  # called with the bytes of each read
        self._left = status.st_size
        # Only for small files. The etag of a multipart upload is not the MD5 of the object.
        small = status.st_size <= ONE_REQUEST
        self._md5 = hashlib.md5(usedforsecurity=False) if small else None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            piece = os.read(self._handle, self._left if size < 0 else min(size, self._left))
        except OSError as error:
            raise FileChanged(f"{self._path}: {error.strerror}") from error
        if not piece and self._left:
            raise FileChanged(get_message("output.shorter", path=self._path))
        self._left -= len(piece)
        self._digest.update(piece)
        if self._md5:
            self._md5.update(piece)
        self.on_read(len(piece))
        return piece

    @property
    def left(self) -> int:
        """The number of bytes still to be read."""
        return self._left

    def beginning(self) -> BinaryIO:
        """Return the same file for a read in advance. Call :meth:`rewind` afterwards."""
        return open(os.dup(self._handle), "rb")

    def rewind(self) -> None:
        os.lseek(self._handle, 0, os.SEEK_SET)

    def changed(self) -> bool:
        """Return True if the file was modified since it was opened."""
        return seen(os.fstat(self._handle)) != self.seen

    def sha256(self) -> str:
        return self._digest.hexdigest()

    def md5(self) -> str:
        """Return the MD5, which is the etag of small objects, or "" for a large file."""
        return self._md5.hexdigest() if self._md5 else ""

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        super().close()
