"""Says that the task lives, and hears what is asked of it."""

import errno
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from danlu.agent.ending import Ending, Why
from danlu.errors import StorageError
from danlu.job.plan import Limits
from danlu.job.status import Heartbeat
from danlu.taskdir.files import TaskDir, newest_attempt
from danlu.taskdir.term import read_term

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
        home: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lost_to_full_disk = False
        self._files = files
        self._limits = limits
        self._ending = ending
        self._make_room = make_room
        self._home = home
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
            if self._server_is_lost():
                log.warning("the server's lease ended more than %gs ago", self._limits.lease)
                self._ending.ask(Why.CUT_OFF, 0)
            grace = self._files.stop_requested()
            if grace is not None:
                self._ending.ask(Why.JOB if self._files.stop_why() else Why.USER, grace)
            self._heard = self._clock()
        except (OSError, StorageError, ValueError) as error:
            self._missed(error)

    def _server_is_lost(self) -> bool:
        """Tell whether other servers may soon take it for gone, and run the job themselves."""
        if not self._limits.lease or self._home is None:
            return False
        return read_term(self._home).ended_for() > self._limits.lease

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
