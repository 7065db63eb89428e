"""What writers that were killed left unfinished."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from danlu.storage.names import is_temporary
from danlu.storage.walking import walk

_STALE = 60.0  # seconds: a writer needs a moment to take the lock of its new file


def sweep(root: Path, older: float = _STALE) -> int:
    """Remove every unfinished file below ``root`` that no living process holds; return how many."""
    return sum(1 for _ in _left_over(root, older, remove=True))


def left_over(root: Path, older: float = _STALE) -> list[str]:
    """Return the paths of what :func:`sweep` would remove."""
    return list(_left_over(root, older, remove=False))


def _left_over(root: Path, older: float, *, remove: bool) -> Iterator[str]:
    for path, _, files in walk(root):
        for name in files:
            file = os.path.join(path, name)
            if is_temporary(name) and _is_stale(file, max(older, _STALE), remove):
                yield file


def _is_stale(path: str, older: float, remove: bool) -> bool:
    with contextlib.suppress(OSError):
        # O_NONBLOCK: a script may have put a pipe there, and nobody ever writes to it.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if time.time() - os.fstat(handle).st_mtime > older:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if remove:
                    os.unlink(path)
                return True
        finally:
            os.close(handle)
    return False
