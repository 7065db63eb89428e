"""Tells a script that hangs from one that works: by all that moves when a script does.

A step, a line, a transfer of ours, a process that comes or goes, processor time, bytes read,
written, sent or received: any of them is movement. What a process that waits uses by itself (the
timers of gRPC and TensorFlow: a thousandth of a core and some fifty bytes a second) is none.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping

from danlu.agent.ending import Ending
from danlu.agent.meeting import peers_of
from danlu.agent.pump import JobLog
from danlu.agent.report import Reporter
from danlu.agent.usage import Usage, usage_of
from danlu.errors import StorageError
from danlu.job.plan import Task
from danlu.job.stillness import last_to_move
from danlu.taskdir.box import Box
from danlu.taskdir.files import TaskDir

log = logging.getLogger(__name__)

_BUSY = 0.005  # of a core
_STREAM = 512  # bytes a second
_SHARE = 40  # looks in the time after which a task is still
_SELDOM, _OFTEN = 10.0, 0.05


def watch(
    files: TaskDir,
    task: Task,
    box: Box,
    report: Reporter,
    job_log: JobLog,
    ending: Ending,
    pids: Callable[[], set[int]],
) -> "Stillness":
    """Return what watches the script of a task, to be started with it."""
    return Stillness(
        report,
        job_log,
        lambda: told_so_far(box, report, job_log),
        lambda: usage_of(pids()),
        lambda: ending.wish is not None or not pids(),
        limit=task.limits.still,
        job=task.job_name,
        task=task.name,
        peers=peers_of(files, task.place),
    )


def told_so_far(box: Box, report: Reporter, job_log: JobLog) -> Hashable:
    """Return what changes with every step, every byte of output and every byte we carry."""
    return box.steps(), job_log.taken, report.carried


class Stillness:
    """A thread from :meth:`start` to :meth:`close`; ``limit`` in seconds, 0: nobody looks.

    ``told`` is what costs nothing to know; ``measure`` is asked only when that has not changed.
    The flag of a task is in its progress. In the log the task speaks that stopped last, and only
    when none of its peers moves: parameter servers do nothing by themselves.
    """

    def __init__(
        self,
        report: Reporter,
        job_log: JobLog,
        told: Callable[[], Hashable],
        measure: Callable[[], Usage],
        is_over: Callable[[], bool],
        *,
        limit: float,
        job: str,
        task: str,
        peers: Mapping[str, TaskDir] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._report = report
        self._log = job_log
        self._told = told
        self._measure = measure
        self._is_over = is_over
        self._limit = limit
        self._every = min(max(limit / _SHARE, _OFTEN), _SELDOM)
        self._job = job
        self._task = task
        self._peers = peers or {}
        self._clock = clock
        self._looked = clock()
        self._still = 0.0
        self._since: float | None = None  # the same in Unix time, of a task that is flagged
        self._last_told: Hashable = None
        self._used: tuple[float, Usage] | None = None
        self._said: float | None = None  # how long it had been still when that was said
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stillness", daemon=True)

    def start(self) -> None:
        if self._limit:
            self._thread.start()

    def close(self) -> None:
        """To be called when the script has ended: what comes then is not its own."""
        self._closed.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._report.still(None)

    def look(self) -> None:
        """See whether something has moved since the last look, and tell what that means."""
        now = self._clock()
        # An agent that was itself stopped meanwhile cannot say that nothing moved.
        passed = min(now - self._looked, 2 * self._every)
        self._looked = now
        self._still = 0.0 if self._has_moved(now) else self._still + passed
        if self._still < self._limit:
            self._since = None
        elif self._since is None:
            self._since = time.time() - self._still
        self._report.still(self._since)
        self._speak()

    def _has_moved(self, now: float) -> bool:
        told = self._told()
        if told != self._last_told:
            self._last_told, self._used = told, None
            return True
        before, self._used = self._used, (now, self._measure())
        if before is None:
            return True  # nothing to compare with
        (then, old), (_, new) = before, self._used
        passed = max(now - then, 0.0)
        return (
            new.pids != old.pids
            or new.cpu - old.cpu > _BUSY * passed
            or new.data - old.data > _STREAM * passed
        )

    def _speak(self) -> None:
        hangs = self._is_the_last_to_stop()
        if hangs:
            if self._said is None:
                self._log.say(
                    f"nothing has moved for {_shown(self._still)}: no step, no output, hardly any "
                    "processor time, no bytes read or written. If it hangs, end it with: "
                    f"danlu stop {self._job}"
                )
            self._said = max(self._said or 0.0, self._still)
        elif self._said is not None:
            if not self._is_over():  # what ends, or is told to, does not go on
                self._log.say(f"it moves again, after {_shown(self._said)}")
            self._said = None

    def _is_the_last_to_stop(self) -> bool:
        if self._since is None:
            return False
        try:
            living = [
                (name, files.progress())
                for name, files in self._peers.items()
                if files.outcome() is None
            ]
        except (OSError, StorageError) as error:
            log.warning("peers unknown error=%s", error)
            return self._said is not None
        found = last_to_move([*living, (self._task, self._report.progress)])
        return found is not None and found[1] == self._task

    def _run(self) -> None:
        while not self._closed.wait(self._every):
            try:
                self.look()
            except Exception:
                log.exception("not looked at")  # a warning is not worth a training


def _shown(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
