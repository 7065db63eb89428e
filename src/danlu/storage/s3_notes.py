"""Uploads that are going on, noted on this machine: who is killed is gone on from by the next.

A note is locked as long as its writer lives, and the kernel frees the lock when that is killed. So
whoever gets it knows that nobody else adds to that upload or completes it: across machines nobody
could know, and there an upload begins anew.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


class Note:
    """Of one upload; ``begun`` is the one that a killed writer left, empty where there is none."""

    def __init__(self, handle: int, path: Path) -> None:
        self._handle = handle
        self._path = path
        self.begun = os.pread(handle, 4096, 0).decode("utf-8", "replace")

    def write(self, identity: str) -> None:
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, identity.encode(), 0)

    def remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()


@contextlib.contextmanager
def noted(folder: Path | None, name: str) -> Iterator[Note | None]:
    """Hold the note of an upload; None where there is no folder, or another writer is at it."""
    handle = None if folder is None else _locked(folder, name)
    if folder is None or handle is None:
        yield None
        return
    try:
        yield Note(handle, _path(folder, name))
    finally:
        os.close(handle)


def _path(folder: Path, name: str) -> Path:
    return folder / hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _locked(folder: Path, name: str) -> int | None:
    path = _path(folder, name)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None  # not to be had here: notes save time, nothing else
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino == os.stat(path).st_ino:  # else its writer has just ended
            return handle
    except OSError:
        pass
    os.close(handle)
    return None
