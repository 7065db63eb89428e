"""Folders thrown away: out of sight at once, off the disk as soon as there is time.

A script may leave a hundred thousand files; nobody who decides about jobs waits for their removal.
"""

import contextlib
import logging
import os
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)


class Rubbish:
    """Safe to use from several threads. What a killed process left here goes with the next."""

    def __init__(self, bin: Path) -> None:
        self._bin = bin
        self._lock = threading.Lock()
        self._more = threading.Event()
        self._thread: threading.Thread | None = None
        if bin.is_dir():
            self._start()

    def take(self, folder: Path) -> None:
        """Remove a folder; what is not there is no error."""
        self._bin.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            os.rename(folder, self._bin / f"{folder.name}-{secrets.token_hex(4)}")
        except FileNotFoundError:
            return
        self._start()

    def wait(self, seconds: float) -> None:
        """Wait until everything taken so far is gone, or the time is over."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _start(self) -> None:
        with self._lock:
            self._more.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._empty, name="rubbish", daemon=True)
                self._thread.start()

    def _empty(self) -> None:
        while True:
            with self._lock:
                if not self._more.is_set():
                    self._thread = None
                    return
                self._more.clear()
            for folder in list(self._bin.iterdir()):
                try:
                    remove_tree(folder)
                except OSError as error:
                    log.warning("not removed folder=%s error=%s", folder, error)


def remove_tree(folder: Path) -> None:
    """Remove a folder however deep it is, read-only folders included; links are not followed.

    One step at a time and by descriptor: neither Python's stack nor the longest path set a limit.
    """
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _remove(parent, folder.name)
    finally:
        os.close(parent)


def _remove(parent: int, name: str) -> None:
    """Pull up what lies deeper, level by level, until only empty folders are left."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    with contextlib.suppress(PermissionError):
        os.chmod(name, 0o700, dir_fd=parent)
    top = os.open(name, flags, dir_fd=parent)
    try:
        while folders := list(_unlink_files(top)):
            for inner in folders:
                _pull_up(top, inner, flags)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _unlink_files(folder: int) -> Iterator[str]:
    """Remove the files of a folder and yield the names of its folders."""
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                yield entry.name
            else:
                os.unlink(entry.name, dir_fd=folder)


def _pull_up(top: int, name: str, flags: int) -> None:
    """Empty one folder of ``top``: its files go, its folders become folders of ``top``."""
    os.chmod(name, 0o700, dir_fd=top)
    handle = os.open(name, flags, dir_fd=top)
    try:
        for inner in list(_unlink_files(handle)):
            os.chmod(inner, 0o700, dir_fd=handle)
            os.rename(inner, secrets.token_hex(8), src_dir_fd=handle, dst_dir_fd=top)
    finally:
        os.close(handle)
    os.rmdir(name, dir_fd=top)
