"""Removing a folder, whatever is in it: a script may have left anything.

By descriptor and one level at a time: neither Python's stack nor the longest path set a limit,
and no link leads elsewhere.
"""

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from danlu.storage.inside import FOLDER

_NO_LINK = FOLDER | os.O_NOFOLLOW


def remove(folder: Path) -> None:
    """Remove a directory and all below it, read-only or not; links are removed, not followed.

    What is not there is no error; two callers may remove the same folder at once.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
            return
        with contextlib.suppress(PermissionError):
            os.chmod(folder, 0o700)
        while not _emptied(folder):
            continue


def _emptied(folder: Path) -> bool:
    """Empty a folder and remove it; False when another caller has put something there meanwhile."""
    top = os.open(folder, _NO_LINK)
    try:
        while inner := list(_unlink_files(top)):
            for name in inner:
                _pull_up(top, name)
    finally:
        os.close(top)
    try:
        os.rmdir(folder)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        raise
    return True


def _unlink_files(folder: int) -> Iterator[str]:
    """Remove the files of a folder and yield the names of its folders."""
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                yield entry.name
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=folder)


def _pull_up(top: int, name: str) -> None:
    """Empty one folder of ``top``: its files go, its folders become folders of ``top``."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(name, 0o700, dir_fd=top)
        handle = os.open(name, _NO_LINK, dir_fd=top)
        try:
            for inner in list(_unlink_files(handle)):
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(inner, 0o700, dir_fd=handle)  # to be moved it must be writable
                    os.rename(inner, secrets.token_hex(8), src_dir_fd=handle, dst_dir_fd=top)
        finally:
            os.close(handle)
        try:
            os.rmdir(name, dir_fd=top)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # filled by another caller: seen at the next look
                raise
