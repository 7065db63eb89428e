"""A directory copied again and again while the script goes on."""

import atexit
import os
import threading
from contextlib import suppress

from danlu.storage.paths import Path
from moxing.framework.file.copying import copy_parallel
from moxing.framework.file.errors import translating
from moxing.framework.file.trees import below
from moxing.framework.file.where import log, place


class BackgroundCopy:
    """Copies what has changed every so many seconds, and a last time at the end."""

    def __init__(self, source: str, target: str, seconds: float) -> None:
        self._source, self._target, self._seconds = source, target, seconds
        self._seen: dict[str, object] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._rounds, name="mox-sync", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the rounds with a last one."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._thread.join()
        atexit.unregister(self.stop)
        self._round()

    def _rounds(self) -> None:
        while not self._ending.wait(self._seconds):
            self._round()

    def _round(self) -> None:
        """Copy what is not as it was; a round that fails is said, and the next one takes it."""
        try:
            now = self._versions()
            changed = [name for name, version in now.items() if self._seen.get(name) != version]
            if changed:
                copy_parallel(self._source, self._target, file_list=changed)
            self._seen = now
        except Exception as error:
            log.warning("%s was not copied to %s: %s", self._source, self._target, error)

    def _versions(self) -> dict[str, object]:
        path, remote = place(self._source)
        found: dict[str, object] = {}
        with translating():
            for item in below(path, remote) if remote or os.path.isdir(path) else ():
                with suppress(FileNotFoundError):
                    found[item.path] = item.entry or _version(os.path.join(path, item.path))
        return found


def _version(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def background_sync_copy(src: Path, dst: Path, seconds: float = 120) -> BackgroundCopy:
    """Copy a directory every ``seconds`` in the background, and once more when Python ends."""
    return BackgroundCopy(os.fsdecode(src), os.fsdecode(dst), float(seconds))
