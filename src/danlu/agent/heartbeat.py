"""Says that the task lives, and hears what is asked of it."""

import errno
import logging
import threading
import time
from collections.abc import Callable

from danlu.agent.ending import Ending, Why
from danlu.errors import StorageError
from danlu.job.plan import Limits
from danlu.job.status import Heartbeat
from danlu.taskdir.files import TaskDir, newest_attempt

log = logging.getLogger(__name__)


class Beating:
    """A thread that beats until closed. What it hears it passes on to ``ending``."""

    def __init__(
        self,
        files: TaskDir,
        limits: Limits,
        ending: Ending,
        *,
        make_room: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lost_to_full_disk = False
        self._files = files
        self._limits = limits
        self._ending = ending
        self._make_room = make_room
        self._clock = clock
        self._seq = 0
        self._heard = clock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def beat(self) -> None:
        """One beat: report, then look whether somebody wants something."""
        try:
            self._seq += 1
            self._files.beat(Heartbeat(self._seq, time.time()))
            if newest_attempt(self._files.carrier) > self._files.attempt:
                self._ending.ask(Why.FENCED, 0)
            grace = self._files.stop_requested()
            if grace is not None:
                self._ending.ask(Why.JOB if self._files.stop_why() else Why.USER, grace)
            self._heard = self._clock()
        except (OSError, StorageError, ValueError) as error:
            self._missed(error)

    def _missed(self, error: Exception) -> None:
        silent = self._clock() - self._heard
        log.warning("beat missed seq=%s silent=%.1f error=%s", self._seq, silent, error)
        full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if full:
            self._make_room()
        if silent > self._limits.lost_after:
            self.lost_to_full_disk = full
            self._ending.ask(Why.CUT_OFF, 0)

    def _run(self) -> None:
        while True:
            self.beat()
            if self._closed.wait(self._limits.heartbeat):
                return
