"""What the task is doing now, told as it goes."""

import logging
import threading
import time
from collections.abc import Callable

from danlu.errors import StorageError
from danlu.job.status import Phase, Progress, Steps, Transfer
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_EVERY = 0.5


class Reporter:
    def __init__(self, files: TaskDir, clock: Callable[[], float] = time.monotonic) -> None:
        self._files = files
        self._clock = clock
        self._phases: list[Phase] = []
        self._transfer: Transfer | None = None
        self._steps: Steps | None = None
        self._still: float | None = None
        self._behind = False  # what was told last could not be written
        self.carried = 0  # grows with every byte that is on its way
        self._lock = threading.Lock()

    @property
    def phase(self) -> str:
        return self._phases[-1].name if self._phases else ""

    @property
    def progress(self) -> Progress:
        return Progress(tuple(self._phases), self._transfer, self._steps, self._still)

    def begin(self, phase: str) -> None:
        with self._lock:
            self._phases.append(Phase(phase, time.time()))
            self._write(None)

    def transfer(self, what: str, check: Callable[[], None]) -> Callable[[int, int], None]:
        """Return a progress function for one transfer; ``check`` may end it by raising."""
        began = self._clock()
        last, before = began, 0

        def progress(done: int, total: int) -> None:
            nonlocal last, before
            check()
            if done > before:
                self.carried += done - before
                before = done
            now = self._clock()
            if now - last < _EVERY:
                return
            last = now
            with self._lock:
                self._write(Transfer(what, done, total, done / max(now - began, 1e-6)))

        return progress

    def cached(self, what: str, size: int) -> None:
        with self._lock:
            self._write(Transfer(what, size, size, 0.0, cached=True))

    def trained(self, steps: Steps) -> None:
        """Tell how far the script's training is."""
        with self._lock:
            if steps != self._steps:
                self._steps = steps
                self._write(self._transfer)

    def still(self, since: float | None) -> None:
        """Tell since when nothing of the script has moved; None: something has."""
        with self._lock:
            if since != self._still or self._behind:
                self._still = since
                self._write(self._transfer)

    def repeat(self) -> None:
        """Tell once more what was told last."""
        with self._lock:
            self._write(self._transfer)

    def _write(self, transfer: Transfer | None) -> None:
        self._transfer = transfer
        try:
            self._files.report(self.progress)
            self._behind = False
        except (OSError, StorageError) as error:
            self._behind = True
            log.debug("progress not written error=%s", error)


def show_size(size: float) -> str:
    """Return bytes for people: '12 B', '1.2 MB'."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
