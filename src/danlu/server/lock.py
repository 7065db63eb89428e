"""One server per home: a lock that lasts as long as its process and not a moment longer."""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

from danlu.errors import Conflict

_PATIENCE = 1.0  # a client that looks at the lock holds it for a moment


class HomeLock:
    """``home/lock``, held from :meth:`take` to the end of the process."""

    def __init__(self, home: Path) -> None:
        self._path = home / "lock"
        self._handle = -1

    def take(self, about: dict[str, Any]) -> None:
        """Hold the home and leave word who does.

        Raises:
            Conflict: another server has it; says which.
        """
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    os.close(handle)
                    raise self._held() from None
                time.sleep(0.05)
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(about).encode(), 0)
        self._handle = handle

    def lost(self) -> bool:
        """Tell whether the home was removed, or replaced by another, under this process."""
        try:
            now = os.stat(self._path)
        except FileNotFoundError:
            return True
        mine = os.fstat(self._handle)
        return (now.st_dev, now.st_ino) != (mine.st_dev, mine.st_ino)

    def release(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _held(self) -> Conflict:
        try:
            holder = json.loads(self._path.read_bytes())
            who = f"process {holder['pid']}, Danlu {holder['version']}"
        except (OSError, ValueError, KeyError, TypeError):
            who = "a process that has not said its name yet"
        return Conflict(
            f"Another server holds {self._path.parent}: {who}.",
            hint="End it with: danlu down",
        )
