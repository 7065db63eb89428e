"""The files of a folder that a script may be writing to while they are read."""

import hashlib
import io
import logging
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from danlu.storage.hands import ONE_REQUEST
from danlu.storage.inside import DEEPEST, contains, real_path
from danlu.storage.names import is_temporary

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Seen:
    """What tells one state of a file from the next."""

    size: int
    mtime_ns: int
    inode: int


class Unsteady(Exception):
    """A file vanished, shrank or cannot be read now: to be taken next time."""


MOST_FILES = 1_000_000
MOST_LINKS = 1_000  # to folders: a few that lead to each other make more paths than memory holds


@dataclass
class Scan:
    """``refused``: sentences on what was left out because there is no end of it."""

    files: dict[str, Seen] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)  # empty ones
    refused: dict[str, None] = field(default_factory=dict)
    links: int = 0

    def has_room(self, depth: int, *, link: bool) -> bool:
        """Tell whether one more folder is looked into; say why not."""
        self.links += link
        if depth > DEEPEST:
            self.refused[f"files lie over {DEEPEST} folders deep"] = None
        elif self.links > MOST_LINKS and link:
            self.refused[f"over {MOST_LINKS:,} links to folders lead to ever more files"] = None
        elif len(self.files) >= MOST_FILES:
            self.refused[f"there are over {MOST_FILES:,} files"] = None
        else:
            return True
        return False


def scan(folder: str, *, warn: bool) -> Scan:
    """Look at every file below ``folder``, a real path.

    Links that lead out are skipped; ``warn`` about them.
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
            if found.has_room(len(above), link=entry.is_symlink()):
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
                (entry for entry in entries if not is_temporary(entry.name)),
                key=lambda entry: entry.name,
            )
    except (FileNotFoundError, NotADirectoryError):
        return


def seen(status: os.stat_result) -> Seen:
    return Seen(status.st_size, status.st_mtime_ns, status.st_ino)


class Output(io.RawIOBase):
    """Reads a file up to the size it has now, whatever is added meanwhile, and takes its digest.

    Raises Unsteady where it is not there any more, where fewer bytes come, and where a link has
    come into its way that leads out of ``folder``, a real path.
    """

    def __init__(self, folder: str, path: str) -> None:
        super().__init__()
        self._handle = -1
        self._path = os.path.join(folder, path)
        self._digest = hashlib.sha256()
        try:
            self._handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise Unsteady(f"{path}: {error.strerror}") from error
        status = os.fstat(self._handle)
        inside = contains(folder, real_path(self._handle, self._path))
        if not inside or not stat.S_ISREG(status.st_mode):
            self.close()
            raise Unsteady(f"{path}: is not a file of this folder any more")
        self.seen = seen(status)
        self.told: Callable[[int], None] = lambda _: None  # how many bytes were read just now
        self._left = status.st_size
        # Of small files only: what is sent in parts has no sum of the whole.
        small = status.st_size <= ONE_REQUEST
        self._md5 = hashlib.md5(usedforsecurity=False) if small else None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            piece = os.read(self._handle, self._left if size < 0 else min(size, self._left))
        except OSError as error:
            raise Unsteady(f"{self._path}: {error.strerror}") from error
        if not piece and self._left:
            raise Unsteady(f"{self._path}: has become shorter")
        self._left -= len(piece)
        self._digest.update(piece)
        if self._md5:
            self._md5.update(piece)
        self.told(len(piece))
        return piece

    @property
    def left(self) -> int:
        """How many bytes are still to be read."""
        return self._left

    def beginning(self) -> BinaryIO:
        """Return the same file to look at first; :meth:`rewind` before it is read here."""
        return open(os.dup(self._handle), "rb")

    def rewind(self) -> None:
        os.lseek(self._handle, 0, os.SEEK_SET)

    def changed(self) -> bool:
        """Tell whether the file is another one now than when it was opened."""
        return seen(os.fstat(self._handle)) != self.seen

    def sha256(self) -> str:
        return self._digest.hexdigest()

    def md5(self) -> str:
        """Return the sum services name small objects by; empty for a large one."""
        return self._md5.hexdigest() if self._md5 else ""

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        super().close()
