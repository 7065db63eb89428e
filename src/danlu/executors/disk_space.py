"""Checks free disk space, and keeps a reserve of it that is deleted when the disk is full.

On a full disk a server cannot open its database, so users cannot remove anything through it. With
the space of the reserve it starts, lists jobs and removes them.
"""

import contextlib
import errno
import logging
import os
from pathlib import Path

from danlu.errors import DanluError
from danlu.settings import Settings

_MIN_BYTES, _MIN_FILES = 1 << 20, 64


def require_free_space(folder: Path) -> None:
    """Check that the disk has enough free space for an agent to start.

    Without this check, a job could start and fail while space is freed little by little.

    Raises:
        OSError: there is not enough free disk space now (ENOSPC).
    """
    disk = os.statvfs(folder)
    # Some file systems report no inode counts.
    few = disk.f_files and disk.f_favail < _MIN_FILES
    if few or disk.f_bavail * disk.f_frsize < _MIN_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))


log = logging.getLogger(__name__)

_FILES, _SIZE = 32, 64 << 10  # several files, because a disk may run out of inodes
_PLENTY = 16  # times the reserve: no reserve is made on a disk with less free space


class Reserve:
    """Files in a home that occupy disk space until it is needed."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "reserve"

    def fill(self) -> None:
        """Create the missing reserve files if there is plenty of free disk space."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            disk = os.statvfs(self._folder)
            few = disk.f_files and disk.f_favail < _PLENTY * _FILES
            if few or disk.f_bavail * disk.f_frsize < _PLENTY * _FILES * _SIZE:
                return
            for number in range(_FILES):
                path = self._folder / str(number)
                if not path.exists():
                    # Random bytes: some file systems do not store zeros.
                    path.write_bytes(os.urandom(_SIZE))

    def spend(self) -> bool:
        """Delete the reserve; return False if there was none."""
        spent = False
        for path in self._folder.glob("*"):
            with contextlib.suppress(OSError):
                path.unlink()
                spent = True
        if spent:
            log.warning("disk full: the reserve is spent folder=%s", self._folder)
        return spent


def free_reserve(settings: Settings) -> None:
    """If the disk of the home is full, delete the reserve, or the content cache without one."""
    if _is_full(settings.home) and not Reserve(settings.home).spend():
        from danlu.storage.cache import ContentCache

        with contextlib.suppress(OSError, DanluError):
            freed = ContentCache(settings.cache, settings.cache_limit).evict(0)
            log.warning("disk full: the cache is emptied bytes=%s", freed)


def _is_full(home: Path) -> bool:
    try:
        require_free_space(home)
    except OSError:
        return True
    return False
