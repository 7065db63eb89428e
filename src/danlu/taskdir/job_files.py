"""Stores for the files that the processes of a job exchange: local files, or objects."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from danlu.atomic_file import PREFIX, write_all, write_temporary, write_whole


class JobFileStore(Protocol):
    """The named values of one job: files on one machine, or objects of a store on a cluster.

    Names are relative and use ``/``. A reader sees a whole value or none, never a half-written
    one. ``can_append`` is True if :meth:`append` is supported. Otherwise a log is a sequence of
    whole segments.
    """

    @property
    def can_append(self) -> bool: ...

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        """Set a value, replacing any previous one. ``private``: readable only by its owner."""

    def create(self, name: str, data: bytes) -> bool:
        """Set a value that does not exist yet. Return False, with no change, if it exists.

        If several callers do this at the same time, exactly one of them gets True.
        """

    def append(self, name: str, data: bytes) -> None:
        """Append to a value. Requires :attr:`can_append`, and a single writer per value."""

    def get(self, name: str) -> bytes | None:
        """Return a value, or None."""

    def read(self, name: str, start: int, size: int) -> bytes:
        """Return up to ``size`` bytes from offset ``start``, or b"" if there are none."""

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        """Return the name and size of every value below ``prefix``, sorted by name."""

    def remove(self, name: str) -> None:
        """Remove a value. Removing a missing value is not an error."""


class LocalJobFiles:
    """A job file store of files below ``folder``.

    Each value is written under a temporary name and then renamed.
    """

    can_append = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        write_whole(self._path(name), data, 0o600 if private else 0o644, parents=True)

    def create(self, name: str, data: bytes) -> bool:
        target = self._path(name)
        temporary = write_temporary(target, data, 0o644, parents=True)
        try:
            os.link(temporary, target)  # unlike rename, refuses to replace
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        return True

    def append(self, name: str, data: bytes) -> None:
        target = self._path(name)
        try:
            handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.fstat(handle).st_size
            try:
                write_all(handle, data)
            except OSError:
                os.ftruncate(handle, before)  # the writer counts a failed append as not written
                raise
        finally:
            os.close(handle)

    def get(self, name: str) -> bytes | None:
        try:
            return self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def read(self, name: str, start: int, size: int) -> bytes:
        try:
            with open(self._path(name), "rb", buffering=0) as file:
                file.seek(start)
                return file.read(size)
        except (FileNotFoundError, NotADirectoryError):
            return b""

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        found = []
        start = self._path(prefix)
        for folder, _, files in os.walk(start):
            for file in files:
                path = Path(folder, file)
                if not file.startswith(PREFIX):
                    try:
                        found.append(
                            (path.relative_to(self.folder).as_posix(), path.stat().st_size)
                        )
                    except FileNotFoundError:
                        continue  # removed between walk() and stat()
        return sorted(found)

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / name


class ObjectAccess(Protocol):
    """The methods of a storage that ``StoredJobFiles`` uses. ``danlu.storage`` implements them."""

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None: ...
    def write(self, key: str, data: bytes) -> object: ...
    def create(self, key: str, data: bytes) -> bool: ...
    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]: ...
    def delete(self, key: str) -> None: ...


class StoredJobFiles:
    """A job file store of objects below ``prefix``.

    Objects cannot be appended to. Logs are sequences of whole segments.
    """

    can_append = False

    def __init__(self, objects: ObjectAccess, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix.rstrip("/") + "/"

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        if private:
            raise ValueError("secrets do not travel through a store")
        self._objects.write(self._prefix + name, data)

    def create(self, name: str, data: bytes) -> bool:
        return self._objects.create(self._prefix + name, data)

    def append(self, name: str, data: bytes) -> None:
        raise ValueError("objects do not grow")

    def get(self, name: str) -> bytes | None:
        return self._objects.read(self._prefix + name)

    def read(self, name: str, start: int, size: int) -> bytes:
        return self._objects.read(self._prefix + name, start, size) or b""

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        cut = len(self._prefix)
        return sorted((key[cut:], size) for key, size in self._objects.sizes(self._prefix + prefix))

    def remove(self, name: str) -> None:
        self._objects.delete(self._prefix + name)
