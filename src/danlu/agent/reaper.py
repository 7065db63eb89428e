"""Collects every process that ends below the agent: it adopts what its scripts leave behind."""

import os
import threading
from collections.abc import Callable


class Reaper:
    """One for all processes the agent starts, one after the other; ``wake`` is called at each end.

    Two threads that wait for any process would take each other's.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._statuses: dict[int, int] = {}
        self._running = self._again = False

    def forget(self) -> None:
        """To be called before a process is started: it may get the number of one that ended."""
        self._statuses = {}

    def watch(self) -> None:
        """Begin, or go on; to be called when a process has been started."""
        with self._lock:
            if self._running:
                # It may have found no process a moment ago and be about to leave.
                self._again = True
                return
            self._running = True
        threading.Thread(target=self._run, name="reaper", daemon=True).start()

    def status(self, pid: int) -> int | None:
        """Return the wait status of a process of ours that has ended; None while it lives."""
        return self._statuses.get(pid)

    def _run(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                with self._lock:
                    if not self._again:
                        self._running = False
                        return
                    self._again = False
                continue
            self._statuses[pid] = status
            self._wake()
