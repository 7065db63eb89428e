"""Moves jobs on: load, decide, apply. Everything it knows is read again after a crash.

A write is refused when somebody wrote the job meanwhile (compare-and-set): then the work of this
tick is dropped and the next one sees the newer job.
"""

import errno
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from danlu.errors import DanluError, InvalidJob, NoCapacity, Unavailable
from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.server import Right
from danlu.job.state import JobState, Reason
from danlu.job.status import TaskStatus
from danlu.records.api import Records
from danlu.service.cause import why_ended
from danlu.service.decide import Move, decide, killed_at
from danlu.service.ending import Ending
from danlu.service.forsaken import Forsaken
from danlu.service.keys import SecretFiles
from danlu.service.planning import roles_of, tasks_of
from danlu.service.retrying import delay
from danlu.service.sharing import Alone, Sharing, Turn
from danlu.service.tidying import Tidying
from danlu.settings import Settings

log = logging.getLogger(__name__)

_SOON = 0.02  # agents are on their way
_LIVING = 0.25  # an agent that ends wakes us; this is for those of an earlier server
_IDLE = 5.0
_SHARED = 1.0  # nobody wakes us for what other servers are given
_LEASELESS = 0.2
# What a full disk or a machine with too many processes says: it passes, and no job is to blame.
_PASSING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
}
_PS_GRACE = 2.0  # parameter servers hold nothing worth waiting for
_PEER_GRACE = 20.0  # who lost a peer may be inside TensorFlow, where no TERM is heard


class Supervisor:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        settings: Settings,
        secrets: SecretFiles,
        ending: Ending,
        *,
        sharing: Sharing | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._executor = executor
        self._settings = settings
        self._secrets = secrets
        self._ending = ending
        self._sharing = sharing or Alone()
        self._forsaken = Forsaken(executor, ending, self._sharing)
        self._tidying = Tidying(records, executor, secrets, ending, self._forsaken, self._sharing)
        self._clock = clock
        self._woken = threading.Event()
        self._closed = False
        self._moved = False  # in this tick
        self._untold = False
        self._changed: Callable[[], None] = lambda: None

    def on_change(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` after every move of a job."""
        self._changed = tell

    def wake(self) -> None:
        """Look now, not later. From any thread."""
        self._woken.set()

    def close(self) -> None:
        self._closed = True
        self.wake()

    def run(self) -> None:
        """Tick until closed."""
        tidied: int | None = None
        told = ""  # a cluster or a database that is away is told of once, not at every tick
        while not self._closed:
            self._woken.clear()
            try:
                fence = self._sharing.begin()
                if fence is not None and fence != tidied:
                    self._tidying.after_crash()
                    tidied = fence
                pause = _LEASELESS if fence is None else self.tick()
                told = ""
            except Unavailable as error:
                if str(error) != told:
                    log.warning("tick failed because=%s", error)
                told, pause = str(error), 1.0
            except Exception:
                log.exception("tick failed")
                pause = 1.0
            self._woken.wait(pause)

    def tick(self) -> float:
        """Advance every living job as far as it goes now; return seconds until the next look."""
        jobs = self._records.living()
        self._moved = False
        room = True
        for job in jobs:
            # Nobody overtakes: a large job at the head of the queue gets its room in the end.
            if not room and job.state is JobState.QUEUED and not job.stop_requested:
                continue
            room = self._advance_safely(job) and room
        self._forsaken.end()
        if self._ending.keep_house() and self._sharing.name:
            self._tidying.after_crash()  # jobs that were here may have ended elsewhere
        return self._pause(jobs)

    def _pause(self, jobs: Sequence[Job]) -> float:
        if self._moved or any(job.state is JobState.STARTING for job in jobs):
            return _SOON
        if jobs or self._forsaken:
            return _LIVING
        return _SHARED if self._sharing.name else _IDLE

    def _advance_safely(self, job: Job) -> bool:
        """Return False when the job waits for room."""
        try:
            return self._advance(job)
        except Unavailable as error:
            log.warning("advance later job=%s because=%s", job.id, error)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _PASSING:
                log.warning("advance later job=%s because=%s", job.id, error)
                return True
            log.exception("advance failed job=%s", job.id)
            self._give_up(job, error)
        return True

    def _advance(self, job: Job) -> bool:
        current = self._ours(job)
        while current is not None and not current.state.final:
            if current.state is JobState.QUEUED:
                if self._must_wait(current):
                    return True
                try:
                    current = self._launch(current)
                except NoCapacity:
                    return self._never_fits(job)
            else:
                current = self._step(current)
        return True

    def _ours(self, job: Job) -> Job | None:
        """Return a job that is this server's to move; one of a server that is gone is now."""
        if job in self._forsaken:
            return None
        turn = self._sharing.turn(job)
        if turn is Turn.ORPHANED:
            return self._take_over(job)
        return job if turn is Turn.OURS else None

    def _take_over(self, job: Job) -> Job | None:
        right, gone = self._sharing.right(job), job.runs_on or job.accepted_by
        log.warning("take over job=%s from=%s", job.id, gone)
        if job.state is JobState.QUEUED:
            detail = f"Its secrets are with server {gone}, which is gone."
            lost = replace(job, detail=detail)
            return self._save(
                lost.moved(JobState.FAILED, self._clock(), Reason.PLATFORM_FAILED), right
            )
        if self._sharing.goes_on(job) or job.state is JobState.STOPPING:
            return self._save(job, right)
        lost = replace(job, detail=f"Server {gone}, which ran it, is gone.")
        return self._save(lost.moved(JobState.STOPPING, self._clock(), Reason.AGENT_LOST), right)

    def _never_fits(self, job: Job) -> bool:
        """Tell whether only another server has a machine large enough for a job."""
        if not self._sharing.name:
            return False
        try:
            self._executor.place(job.id, roles_of(job))
        except InvalidJob:
            return True
        return False

    def _must_wait(self, job: Job) -> bool:
        if self._sharing.turn(job) is not Turn.OURS:
            return True
        # More than the whole delay is left only where the clock was set back.
        left = job.not_before - self._clock()
        return not job.stop_requested and 0 < left <= delay(job, self._settings.retry_delay)

    def _launch(self, job: Job) -> Job | None:
        if job.stop_requested:
            return self._apply(job, (), Move(JobState.STOPPED, Reason.STOPPED_BY_USER))
        places = self._executor.reserve(job.id, roles_of(job), job.attempt)
        planned = replace(job, plan=tasks_of(job, places, self._settings), tasks=())
        saved = self._save(planned.moved(JobState.STARTING, self._clock()))
        if saved is None and self._sharing.name and not self._sharing.reaches:
            self._executor.release(job.id)  # another server was faster
        return saved

    def _step(self, job: Job) -> Job | None:
        gone = False
        if job.state is JobState.STARTING:
            sealed = self._sharing.sealed(job.plan)
            self._executor.start(job.id, sealed, self._secrets.of(job.id))
            self._tell()
        elif job.state is JobState.STOPPING:
            gone = self._executor.stop(job.id, job.plan, grace=self._grace(job), why=why_ended(job))
        tasks = self._executor.poll(job.id, job.plan)
        move = decide(
            job,
            tasks,
            timeout=self._settings.agent_timeout,
            gone=gone,
            end_hung=self._settings.hang == "retry",
        )
        return None if move is None else self._apply(job, tasks, move)

    def _grace(self, job: Job) -> float:
        if job.reason is Reason.DONE:
            return min(_PS_GRACE, self._settings.grace)
        if job.stop_grace is not None:
            return job.stop_grace
        return min(_PEER_GRACE, self._settings.grace) if job.failed_task else self._settings.grace

    def _apply(self, job: Job, tasks: Sequence[TaskStatus], move: Move) -> Job | None:
        moved = job.moved(move.state, self._clock(), move.reason)
        moved = replace(
            moved, tasks=tuple(tasks), failed_task=move.failed_task or moved.failed_task
        )
        if move.state is JobState.QUEUED:
            moved = self._again(moved)
        saved = self._save(moved)
        if saved is not None and saved.state.final:
            self._ending.of(saved)
        elif saved is not None and saved.state is JobState.QUEUED:
            self._executor.release(saved.id)  # others may run while the retry waits
        return saved

    def _again(self, job: Job) -> Job:
        reason = job.reason or Reason.AGENT_LOST
        again = replace(
            job,
            attempt=job.attempt + 1,
            retried={**job.retried, reason.value: job.retried.get(reason.value, 0) + 1},
            killed_at=killed_at(job),
            failed_task="",
            detail="",
        )
        wait = delay(again, self._settings.retry_delay)
        return replace(again, not_before=self._clock() + wait)

    def _give_up(self, job: Job, error: Exception) -> None:
        """End a job that cannot be brought to run. What runs already is looked at again."""
        detail = error.message if isinstance(error, DanluError) else repr(error)
        told = replace(job, detail=detail)
        if job.state is JobState.QUEUED:
            user = isinstance(error, InvalidJob)
            reason = Reason.PREPARE_FAILED if user else Reason.PLATFORM_FAILED
            self._apply(told, (), Move(JobState.FAILED, reason))
        elif (
            job.state is JobState.STARTING
            and self._since_change(job) > self._settings.agent_timeout
        ):
            self._apply(told, job.tasks, Move(JobState.STOPPING, Reason.PLATFORM_FAILED))

    def _since_change(self, job: Job) -> float:
        return self._clock() - job.history[-1].at

    def _save(self, job: Job, right: Right | None = None) -> Job | None:
        saved = self._records.save(self._sharing.signed(job), right or self._sharing.right())
        if saved is None:
            log.debug("written by somebody else job=%s", job.id)
            self.wake()
            return None
        self._moved = True
        reason = saved.reason.value if saved.reason else "-"
        log.info("advance job=%s to=%s reason=%s", saved.id, saved.state.value, reason)
        self._untold = True
        if saved.state is not JobState.STARTING:
            self._tell()
        return saved

    def _tell(self) -> None:
        """Tell of a move. Of a job that begins only when its agents are on their way: whoever waits
        looks at once, and they would wait for that."""
        if self._untold:
            self._untold = False
            self._changed()
