"""A storage of files: a directory of the user, or a bucket of the embedded store."""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.api import Changed, Entry, Guard
from danlu.storage.folders import (
    DISK_FULL,
    NEW_FILE,
    NOT_THERE,
    OPEN_FOLDER,
    contains,
    naming,
    real_path,
    write_from,
)
from danlu.storage.listing import FOLDER_ETAG, Listing, entry_of
from danlu.storage.names import OBJECT, BucketNames, Names, PlainNames, temporary


@dataclass(frozen=True)
class Slot:
    """The file of one object. ``folder`` is an open directory descriptor.

    ``spare``: if a folder has the name of the object, use the suffix ``%o``. Otherwise that is an
    error.
    """

    folder: int
    name: str
    spare: bool

    def replace(self, unfinished: str) -> None:
        """Rename a file of this folder to the object."""
        try:
            self._rename(unfinished, self.name)
        except IsADirectoryError:
            if not self.spare:
                raise
            self._rename(unfinished, self.name + OBJECT)

    def link(self, unfinished: str) -> bool:
        """Hard-link a file of this folder as the object. Return False if the object exists."""
        if self.spare and self._is_file(self.name + OBJECT):
            return False
        for name in (self.name, self.name + OBJECT) if self.spare else (self.name,):
            try:
                os.link(unfinished, name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
                return True
            except FileExistsError:
                if self._is_file(name):
                    return False
        raise IsADirectoryError(self.name)

    def unlink(self) -> None:
        # The file with the suffix first. It may be older than the other and must not remain.
        for name in (self.name + OBJECT, self.name) if self.spare else (self.name,):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=self.folder)

    def move_aside(self) -> None:
        """Rename the object to make way for a folder. It stays readable at all times."""
        if not self._is_file(self.name):
            return  # another process has renamed it
        between = temporary(os.urandom(6).hex())
        os.link(self.name, between, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        self._rename(between, self.name + OBJECT)
        os.unlink(self.name, dir_fd=self.folder)

    def _rename(self, source: str, target: str) -> None:
        os.rename(source, target, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def _is_file(self, name: str) -> bool:
        try:
            status = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return not stat.S_ISDIR(status.st_mode)


@dataclass(frozen=True)
class DiskErrors:
    """Conversion of OSError to StorageError for the files below ``root``."""

    root: str

    @contextlib.contextmanager
    def reading(self, key: str) -> Iterator[None]:
        """Ignore missing files. Raise StorageError for any other OSError."""
        try:
            yield
        except OSError as error:
            if error.errno not in NOT_THERE:
                raise self._refusal(key, error) from error

    @contextlib.contextmanager
    def raise_storage_error(self, key: str) -> Iterator[None]:
        """Raise StorageError for an OSError. The OSError of a full disk is not converted."""
        try:
            yield
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            raise self._refusal(key, error) from error

    def _refusal(self, key: str, error: OSError) -> StorageError:
        reason = error.strerror or os.strerror(errno.EISDIR)
        return StorageError.from_key("store.disk_error", key=key, root=self.root, reason=reason)


_How = Callable[[Listing, str, str | None, str], Iterator[Entry]]
_AGAIN = 100  # attempts; a delete may remove a new, still empty folder before it is used


class FileStorage:
    """A storage where objects are files below ``root``.

    Each file is written under a temporary name and then renamed.

    ``plain``: keys are paths, and a key that ends in ``/`` is a folder. Such a key is listed if
    the folder is empty, and writing it creates the folder. Without ``plain``, the storage is a
    bucket. Any key can be stored, encoded as described in ``danlu.storage.names``, and an object
    may have the name of a folder.

    Links are followed if they stay below ``root``. Other links raise StorageError. A full disk
    raises OSError with the path.
    """

    def __init__(
        self, root: Path, *, plain: bool, home: Path | None = None, guard: Guard | None = None
    ) -> None:
        """Initialize the storage.

        ``home``: a folder above the root. If it must be created, it gets mode 0700.
        """
        self._guard = guard
        self.root = Path(os.path.realpath(root))
        self.plain = plain
        self._home = home
        self._disk = DiskErrors(str(self.root))
        self._names: Names = PlainNames() if plain else BucketNames()

    def __repr__(self) -> str:
        return f"FileStorage({str(self.root)!r}, plain={self.plain})"

    def list(self, prefix: str = "") -> Iterator[Entry]:
        return self._listed(prefix, Listing.below)

    def children(self, prefix: str) -> Iterator[Entry]:
        return self._listed(prefix, Listing.level)

    def _listed(self, prefix: str, how: _How) -> Iterator[Entry]:
        base, slash, _ = prefix.rpartition("/")
        steps = (self._names.split(base) if base else self._first(prefix)) if slash else ()
        if steps is None:
            return
        path = os.path.join(self.root, *steps)
        with self._disk.raise_storage_error(prefix):
            self._check_inside(path, os.path.realpath(path))
            listing = Listing(str(self.root), self._names, folders=self.plain)
            yield from how(listing, path, base if slash else None, prefix)

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return ((entry.key, entry.size) for entry in self.list(prefix))

    def stat(self, key: str) -> Entry | None:
        if self._is_folder_key(key):
            return self._folder_entry(key)
        handle = self._open(key, os.O_PATH)
        if handle is None:
            return None
        try:
            return entry_of(key, os.fstat(handle))
        finally:
            os.close(handle)

    def open(self, key: str) -> BinaryIO:
        # O_NONBLOCK: opening a pipe in a user's folder must not block forever.
        handle = self._open(key, os.O_RDONLY | os.O_NONBLOCK)
        if handle is None:
            raise NotFound("object", key)
        return os.fdopen(handle, "rb")

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        with self._disk.reading(key), contextlib.suppress(NotFound), self.open(key) as file:
            file.seek(start)
            return file.read() if size is None else file.read(size)
        return None

    def write(self, key: str, data: bytes | memoryview | BinaryIO) -> Entry:
        if self._is_folder_key(key):
            return self._make_folder(key, data)
        steps = self._steps(key)
        if self._guard is not None:
            self._guard.before(key)
        with (
            self._disk.raise_storage_error(key),
            self._unfinished(steps, data) as (folder, name, status),
        ):
            with self._lock(fcntl.LOCK_SH):
                Slot(folder, steps[-1], spare=not self.plain).replace(name)
            return entry_of(key, status)

    def create(self, key: str, data: bytes) -> bool:
        steps = self._steps(key)
        with (
            self._disk.raise_storage_error(key),
            self._unfinished(steps, data) as (folder, name, _),
            self._lock(fcntl.LOCK_EX),
        ):
            created = Slot(folder, steps[-1], spare=not self.plain).link(name)
            os.unlink(name, dir_fd=folder)
            return created

    def copy(self, key: str, to: str, etag: str = "") -> Entry:
        if self._is_folder_key(key) and self._folder_entry(key):
            return self.write(to, b"")
        with self.open(key) as file:
            # Objects are replaced by a rename. An open file keeps its version.
            if etag and entry_of(key, os.fstat(file.fileno())).etag != etag:
                raise Changed.from_key("store.replaced_before_copy", key=key)
            return self.write(to, file)

    def delete(self, key: str) -> None:
        steps = self._names.split(key[:-1] if self._is_folder_key(key) else key)
        if steps is None:
            return
        if self._guard is not None:
            self._guard.before(key)
        with self._disk.reading(key):
            folder = self._folder(steps[:-1], make=False)
            try:
                with self._lock(fcntl.LOCK_EX):
                    self._delete(folder, steps, key)
            finally:
                os.close(folder)

    def make_root(self) -> None:
        """Create the root: an empty bucket or folder."""
        if self._home is not None:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.mkdir(parents=True, exist_ok=True)

    def _is_folder_key(self, key: str) -> bool:
        return self.plain and (key == "" or key.endswith("/"))

    def _first(self, prefix: str) -> Sequence[str] | None:
        """Return the steps for a prefix with a slash only as its first character."""
        whole = self._names.split(prefix)
        return whole[:1] if whole else None

    def _steps(self, key: str) -> Sequence[str]:
        steps = self._names.split(key)
        if steps is None:
            raise Refused.from_key("store.no_path" if self.plain else "store.no_key", key=key)
        return steps

    def _open(self, key: str, flags: int) -> int | None:
        """Return a descriptor of a regular file that is verified to be below the root, or None."""
        steps = self._names.split(key)
        if steps is None:
            return None
        path = os.path.join(self.root, *steps)
        for name in (path,) if self.plain else (path, path + OBJECT):
            with self._disk.reading(key):
                handle = os.open(name, flags | os.O_CLOEXEC)
                try:
                    self._check_inside(name, real_path(handle, name))
                    if stat.S_ISREG(os.fstat(handle).st_mode):
                        return os.dup(handle)
                finally:
                    os.close(handle)
        return None

    def _folder(self, steps: Sequence[str], *, make: bool) -> int:
        """Return a descriptor of a folder that is verified to be below the root."""
        at = self._enter_root(make=make)
        for end, step in enumerate(steps, start=1):
            before = at
            try:
                at = self._enter(before, step, make=make)
                self._check_inside(os.path.join(self.root, *steps[:end]), real_path(at, step))
            finally:
                os.close(before)
        return at

    def _enter_root(self, *, make: bool) -> int:
        try:
            return os.open(self.root, OPEN_FOLDER)
        except FileNotFoundError:
            if not make:
                raise
        self.make_root()
        return os.open(self.root, OPEN_FOLDER)

    def _enter(self, folder: int, step: str, *, make: bool) -> int:
        while True:
            try:
                return os.open(step, OPEN_FOLDER, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with contextlib.suppress(FileExistsError):
                    os.mkdir(step, dir_fd=folder)
            except NotADirectoryError:
                if self.plain or not make:
                    raise
                with self._lock(fcntl.LOCK_EX):
                    Slot(folder, step, spare=True).move_aside()

    @contextlib.contextmanager
    def _unfinished(
        self, steps: Sequence[str], data: bytes | memoryview | BinaryIO
    ) -> Iterator[tuple[int, str, os.stat_result]]:
        """Write ``data`` to a temporary file in the target folder; yield folder, name and status.

        The block of the caller renames or removes the file. It is removed here if the block fails.
        """
        folder, handle, name = self._begin(steps)
        try:
            with naming(os.path.join(self.root, *steps)):
                fcntl.flock(handle, fcntl.LOCK_SH)  # marks it as in use for locate.sweep
                write_from(handle, data)
            yield folder, name, os.fstat(handle)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
            raise
        finally:
            os.close(handle)
            os.close(folder)

    def _begin(self, steps: Sequence[str]) -> tuple[int, int, str]:
        """Create a temporary file. Return its folder, descriptor and name."""
        for left in reversed(range(_AGAIN)):
            name = temporary(os.urandom(6).hex())
            try:
                folder = self._folder(steps[:-1], make=True)
                try:
                    return folder, os.open(name, NEW_FILE, 0o666, dir_fd=folder), name
                except OSError:
                    os.close(folder)
                    raise
            except FileNotFoundError:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def _delete(self, folder: int, steps: Sequence[str], key: str) -> None:
        if self._is_folder_key(key):
            with contextlib.suppress(OSError):  # a folder that is not empty is not an object
                os.rmdir(steps[-1], dir_fd=folder)
            return
        Slot(folder, steps[-1], spare=not self.plain).unlink()
        if not self.plain:
            with contextlib.suppress(OSError):  # remove empty parent folders
                for end in range(len(steps) - 1, 0, -1):
                    os.rmdir(os.path.join(self.root, *steps[:end]))

    def _folder_entry(self, key: str) -> Entry | None:
        steps = self._names.split(key[:-1]) if key else ()
        if steps is not None:
            with self._disk.reading(key):
                os.close(self._folder(steps, make=False))
                return Entry(key, 0, FOLDER_ETAG)
        return None

    def _make_folder(self, key: str, data: bytes | memoryview | BinaryIO) -> Entry:
        if data if isinstance(data, bytes | memoryview) else data.read(1):
            raise Refused.from_key("store.folder_key", key=key)
        with self._disk.raise_storage_error(key):
            os.close(self._folder(self._steps(key[:-1]) if key else (), make=True))
        return Entry(key, 0, FOLDER_ETAG)

    def _check_inside(self, path: str, real: str) -> None:
        if not contains(str(self.root), real):
            raise StorageError.from_key("store.behind_link", path=path, root=str(self.root))

    @contextlib.contextmanager
    def _lock(self, how: int) -> Iterator[None]:
        """Hold the lock of a bucket, which :class:`Slot` needs. Folders of users have no lock."""
        if self.plain:
            yield
            return
        handle = os.open(self.root, OPEN_FOLDER)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)
