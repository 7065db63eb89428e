"""Room on the disk for what a task needs before its script begins."""

import errno
import os
from pathlib import Path

_BYTES, _FILES = 1 << 20, 64


def check(folder: Path) -> None:
    """See that an agent could begin: room that comes back a little at a time must not fail a job.

    Raises:
        OSError: there is no room now.
    """
    disk = os.statvfs(folder)
    # Some file systems count no files.
    few = disk.f_files and disk.f_favail < _FILES
    if few or disk.f_bavail * disk.f_frsize < _BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
