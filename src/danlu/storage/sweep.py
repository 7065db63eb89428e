"""What writers that were killed left unfinished."""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from danlu.storage.names import is_temporary

_STALE = 60.0  # seconds: a writer needs a moment to take the lock of its new file


def sweep(root: Path) -> None:
    """Remove every unfinished file below ``root`` that no living process holds."""
    for path, _, files in os.walk(root):
        for name in files:
            if is_temporary(name):
                _remove_if_stale(os.path.join(path, name))


def _remove_if_stale(path: str) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if time.time() - os.fstat(handle).st_mtime > _STALE:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(path)
        finally:
            os.close(handle)
