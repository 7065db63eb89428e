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

_LOOK = 1.0  # seconds between two looks at a beat that does not come back


class Beating:
    """A thread that beats until closed. What it hears it passes on to ``ending``.

    Where the files are beyond a network, a beat may hang for minutes: another thread counts.
    """

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
        self._unheard = 0.0
        self._full = False
        self._closed = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name="heartbeat", daemon=True),
            threading.Thread(target=self._guard, name="heartbeat-guard", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._closed.set()
        for thread in self._threads:
            thread.join()

    def beat(self) -> None:
        """One beat: report, then look whether somebody wants something."""
        began = self._clock()  # who reads our files counts from here at the earliest
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
            self._heard, self._unheard = began, 0.0
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
        self._full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
        if self._full:
            self._make_room()
        self._judge(silent)

    def look(self, passed: float) -> None:
        """Count ``passed`` seconds more in which nothing was heard; too many end the script.

        Only what passes while we run is counted: an agent that was stopped for an hour, with its
        machine, tries a beat before it gives up.
        """
        self._unheard += min(passed, 2 * _LOOK)
        self._judge(min(self._unheard, self._clock() - self._heard))

    def _judge(self, silent: float) -> None:
        if silent > self._limits.lost_after:
            self.lost_to_full_disk = self._full
            self._ending.ask(Why.CUT_OFF, 0)

    def _guard(self) -> None:
        last = self._clock()
        while not self._closed.wait(_LOOK):
            now = self._clock()
            self.look(now - last)
            last = now

    def _run(self) -> None:
        while True:
            self.beat()
            if self._closed.wait(self._limits.heartbeat):
                return
