"""Objects as files: a directory of the user, or a bucket of the embedded store."""

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.api import Entry
from danlu.storage.inside import (
    FOLDER,
    NEW_FILE,
    contains,
    naming,
    real_path,
    write_from,
)
from danlu.storage.listing import FOLDER_ETAG, Listing, entry_of
from danlu.storage.names import OBJECT, BucketNames, Names, PlainNames, temporary
from danlu.storage.refusals import Refusals
from danlu.storage.slot import Slot

_How = Callable[[Listing, str, str | None, str], Iterator[Entry]]
_AGAIN = 100  # a folder just made is empty, and may be removed by a delete before it is used


class FileStorage:
    """Objects are files below ``root``; each is written under a temporary name and renamed.

    ``plain``: keys are paths as they are, and a key ending in ``/`` is a folder: listed where it
    is empty, made where it is written. Otherwise a bucket: any key can be stored, as
    ``danlu.storage.names`` says, and an object may have the name of a folder.

    Links are followed as long as they stay below ``root``; others raise StorageError.
    A full disk raises OSError with the path.
    """

    def __init__(self, root: Path, *, plain: bool, home: Path | None = None) -> None:
        """``home``: a folder above the root that, where it must be made, is nobody else's."""
        self.root = Path(os.path.realpath(root))
        self.plain = plain
        self._home = home
        self._disk = Refusals(str(self.root))
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
        with self._disk.telling(prefix):
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
        # O_NONBLOCK: a pipe in a user's folder must not hold us for ever.
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
        with self._disk.telling(key), self._unfinished(steps, data) as (folder, name, status):
            with self._lock(fcntl.LOCK_SH):
                Slot(folder, steps[-1], spare=not self.plain).replace(name)
            return entry_of(key, status)

    def create(self, key: str, data: bytes) -> bool:
        steps = self._steps(key)
        with (
            self._disk.telling(key),
            self._unfinished(steps, data) as (folder, name, _),
            self._lock(fcntl.LOCK_EX),
        ):
            created = Slot(folder, steps[-1], spare=not self.plain).link(name)
            os.unlink(name, dir_fd=folder)
            return created

    def copy(self, key: str, to: str) -> Entry:
        if self._is_folder_key(key) and self._folder_entry(key):
            return self.write(to, b"")
        with self.open(key) as file:
            return self.write(to, file)

    def delete(self, key: str) -> None:
        steps = self._names.split(key[:-1] if self._is_folder_key(key) else key)
        if steps is None:
            return
        with self._disk.reading(key):
            folder = self._folder(steps[:-1], make=False)
            try:
                with self._lock(fcntl.LOCK_EX):
                    self._delete(folder, steps, key)
            finally:
                os.close(folder)

    def make_root(self) -> None:
        """Make a bucket, or a folder, that has nothing in it yet."""
        if self._home is not None:
            self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.mkdir(parents=True, exist_ok=True)

    def _is_folder_key(self, key: str) -> bool:
        return self.plain and (key == "" or key.endswith("/"))

    def _first(self, prefix: str) -> Sequence[str] | None:
        """Return the steps of a prefix whose only slash is its first character."""
        whole = self._names.split(prefix)
        return whole[:1] if whole else None

    def _steps(self, key: str) -> Sequence[str]:
        steps = self._names.split(key)
        if steps is None:
            raise Refused(
                f"{key!r} cannot be the name of an object here.",
                hint="A path has no empty, '.' or '..' part, and no part over 255 bytes."
                if self.plain
                else "A key has 1 to 1,024 bytes of UTF-8.",
            )
        return steps

    def _open(self, key: str, flags: int) -> int | None:
        """Return a descriptor of a file that is surely below the root, or None."""
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
        """Return a descriptor of a folder that is surely below the root."""
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
            return os.open(self.root, FOLDER)
        except FileNotFoundError:
            if not make:
                raise
        self.make_root()
        return os.open(self.root, FOLDER)

    def _enter(self, folder: int, step: str, *, make: bool) -> int:
        while True:
            try:
                return os.open(step, FOLDER, dir_fd=folder)
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
        """Write ``data`` under a temporary name beside its place; give folder, name and status.

        The block takes the name away; only where it fails, that is done here.
        """
        folder, handle, name = self._begin(steps)
        try:
            with naming(os.path.join(self.root, *steps)):
                fcntl.flock(handle, fcntl.LOCK_SH)  # tells sweep.py that its writer lives
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
        """Return folder, descriptor and name of a new file."""
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
            with contextlib.suppress(OSError):  # one that is not empty is no object
                os.rmdir(steps[-1], dir_fd=folder)
            return
        Slot(folder, steps[-1], spare=not self.plain).unlink()
        if not self.plain:
            with contextlib.suppress(OSError):  # as far up as folders are empty
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
            raise Refused(
                f"{key!r} is a folder here, and a folder holds no bytes.",
                hint="Write to a key that does not end in '/'.",
            )
        with self._disk.telling(key):
            os.close(self._folder(self._steps(key[:-1]) if key else (), make=True))
        return Entry(key, 0, FOLDER_ETAG)

    def _check_inside(self, path: str, real: str) -> None:
        if not contains(str(self.root), real):
            raise StorageError(
                f"{path!r} is a link, or lies behind one, that leads out of {str(self.root)!r}.",
                hint="Put the files themselves there, or name the other folder in the job.",
            )

    @contextlib.contextmanager
    def _lock(self, how: int) -> Iterator[None]:
        """Hold the lock of a bucket; see ``slot.py``. Folders of users need none."""
        if self.plain:
            yield
            return
        handle = os.open(self.root, FOLDER)
        try:
            fcntl.flock(handle, how)
            yield
        finally:
            os.close(handle)
