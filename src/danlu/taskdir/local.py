"""The files of a job on this machine's disk."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path


class FileCarrier:
    """Values are files below ``folder``; each is written under a temporary name and renamed."""

    grows = True

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        target = self._path(name)
        os.replace(self._temporary(target, data, 0o600 if private else 0o644), target)

    def create(self, name: str, data: bytes) -> bool:
        target = self._path(name)
        temporary = self._temporary(target, data, 0o644)
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
                _write_all(handle, data)
            except OSError:
                os.ftruncate(handle, before)  # its writer believes that nothing was added
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
                if not file.startswith(".tmp-"):
                    try:
                        found.append(
                            (path.relative_to(self.folder).as_posix(), path.stat().st_size)
                        )
                    except FileNotFoundError:
                        continue  # removed between listing and looking
        return sorted(found)

    def remove(self, name: str) -> None:
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self.folder / name

    @staticmethod
    def _temporary(target: Path, data: bytes, mode: int) -> Path:
        temporary = target.with_name(f".tmp-{os.getpid()}-{secrets.token_hex(4)}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            handle = os.open(temporary, flags, mode)
        except FileNotFoundError:
            target.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(temporary, flags, mode)
        try:
            _write_all(handle, data)
        except OSError:
            temporary.unlink(missing_ok=True)  # a full disk keeps no half-written file
            raise
        finally:
            os.close(handle)
        return temporary


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
