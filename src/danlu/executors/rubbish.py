"""Folders thrown away: out of sight at once, off the disk as soon as there is time.

A script may leave a hundred thousand files; nobody who decides about jobs waits for their removal.
"""

import logging
import os
import secrets
import threading
from pathlib import Path

from danlu.storage.removal import remove

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
            for folder in self._folders():
                try:
                    remove(folder)
                except OSError as error:
                    log.warning("not removed folder=%s error=%s", folder, error)

    def _folders(self) -> list[Path]:
        try:
            return list(self._bin.iterdir())
        except OSError as error:  # removed by somebody in need of room, for one
            log.warning("no look at folder=%s error=%s", self._bin, error)
            return []
