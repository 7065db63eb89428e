"""The supervisor, which loads each job, decides its next transition and applies it.

All of its state is read again after a crash. Every write is a compare-and-set on the version of
the job. If another writer was first, the work of this tick is dropped and the next tick reads
the newer job.
"""

import errno
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from danlu.dialects import planning
from danlu.errors import DanluError, InvalidJob, NoCapacity, Unavailable
from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.plan import Place, Role
from danlu.job.state import JobState, Reason, WriteGuard
from danlu.job.status import TaskStatus
from danlu.messages import get_message
from danlu.records.api import Records
from danlu.service.diagnosis.cause import why_ended
from danlu.service.jobs.cleanup import CrashRecovery, JobCleanup, RevokedJobs
from danlu.service.jobs.decide import StateTransition, decide, killed_at, retry_delay
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.outputs.unstored import unstored_of
from danlu.service.servers.ownership import Ownership, OwnershipPolicy, SingleServer
from danlu.settings import Settings

log = logging.getLogger(__name__)

# Seconds between two ticks.
_SOON = 0.02  # agents are starting
_LIVING = 0.25  # an exiting agent wakes the supervisor, except agents of an earlier server
_IDLE = 5.0
_SHARED = 1.0  # jobs submitted to other servers do not wake this one
_LEASELESS = 0.2
# Errors of a full disk or of a machine with too many processes: temporary, not caused by the job.
_PASSING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
}
_PS_GRACE = 2.0  # seconds; parameter servers have no outputs to store
_PEER_GRACE = 20.0  # seconds; a task that lost a peer may be in TensorFlow and ignore SIGTERM


class Supervisor:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        settings: Settings,
        secrets: SecretFiles,
        cleanup: JobCleanup,
        *,
        sharing: OwnershipPolicy | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._executor = executor
        self._settings = settings
        self._secrets = secrets
        self._cleanup = cleanup
        self._sharing = sharing or SingleServer()
        self._revoked = RevokedJobs(executor, cleanup, self._sharing)
        self._recovery = CrashRecovery(
            records, executor, secrets, cleanup, self._revoked, self._sharing
        )
        self._clock = clock
        self._woken = threading.Event()
        self._closed = False
        self._moved = False  # in this tick
        self._unreported = False
        self._changed: Callable[[], None] = lambda: None

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every state transition of a job."""
        self._changed = listener

    def wake(self) -> None:
        """Start the next tick now. May be called from any thread."""
        self._woken.set()

    def close(self) -> None:
        self._closed = True
        self.wake()

    def run(self) -> None:
        """Run ticks until closed."""
        recovered: int | None = None
        logged = ""  # log an unavailable cluster or database once, not at every tick
        while not self._closed:
            self._woken.clear()
            try:
                fence = self._sharing.begin()
                if fence is not None and fence != recovered:
                    self._recovery.after_crash()
                    recovered = fence
                pause = _LEASELESS if fence is None else self.tick()
                logged = ""
            except Unavailable as error:
                if str(error) != logged:
                    log.warning("tick failed because=%s", error)
                logged, pause = str(error), 1.0
            except Exception:
                log.exception("tick failed")
                pause = 1.0
            self._woken.wait(pause)

    def tick(self) -> float:
        """Advance every job that has not ended; return the seconds until the next tick."""
        jobs = self._records.living()
        self._moved = False
        has_capacity = True
        for job in jobs:
            # No job overtakes another: a large job at the head of the queue must get its
            # reservation eventually.
            if not has_capacity and job.state is JobState.QUEUED and not job.stop_requested:
                continue
            has_capacity = self._advance_safely(job) and has_capacity
        self._revoked.end()
        if self._cleanup.run_hourly() and self._sharing.name:
            self._recovery.after_crash()  # jobs of this server may have ended on another one
        return self._pause(jobs)

    def _pause(self, jobs: Sequence[Job]) -> float:
        if self._moved or any(job.state is JobState.STARTING for job in jobs):
            return _SOON
        if jobs or self._revoked:
            return _LIVING
        return _SHARED if self._sharing.name else _IDLE

    def _advance_safely(self, job: Job) -> bool:
        """Advance a job and handle its errors; return False if it waits for capacity."""
        try:
            return self._advance(job)
        except Unavailable as error:
            self._waits(job, error.message)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _PASSING:
                self._waits(job, str(error))
                return True
            log.exception("advance failed job=%s", job.id)
            self._give_up(job, error)
        return True

    def _waits(self, job: Job, why: str) -> None:
        """Log once why a job cannot advance now, and record the reason if it is queued."""
        if job.waits == why:
            return
        log.warning("advance later job=%s because=%s", job.id, why)
        if job.state is JobState.QUEUED:
            try:
                self._save(replace(job, waits=why))
            except Exception as error:  # e.g. the same full disk: the job waits anyway
                log.warning("reason not recorded job=%s error=%s", job.id, error)

    def _advance(self, job: Job) -> bool:
        current = self._own_or_take_over(job)
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

    def _own_or_take_over(self, job: Job) -> Job | None:
        """Return a job that this server owns or takes over from a lost server, else None."""
        if job in self._revoked:
            return None
        ownership = self._sharing.ownership_of(job)
        if ownership is Ownership.ORPHANED:
            return self._take_over(job)
        return job if ownership is Ownership.OURS else None

    def _take_over(self, job: Job) -> Job | None:
        guard, gone = self._sharing.write_guard(job), job.runs_on or job.accepted_by
        log.warning("take over job=%s from=%s", job.id, gone)
        if job.state is JobState.QUEUED:
            detail = get_message("job.secrets_gone", gone=gone)
            lost = replace(job, detail=detail)
            return self._save(
                lost.moved(JobState.FAILED, self._clock(), Reason.PLATFORM_FAILED), guard
            )
        if self._sharing.can_adopt_tasks(job) or job.state is JobState.STOPPING:
            return self._save(job, guard)
        lost = replace(job, detail=get_message("job.server_gone", gone=gone))
        return self._save(lost.moved(JobState.STOPPING, self._clock(), Reason.AGENT_LOST), guard)

    def _never_fits(self, job: Job) -> bool:
        """Return True if this server can never run a job and other servers share the records."""
        if not self._sharing.name:
            return False
        try:
            self._executor.place(job.id, planning.roles_of(job))
        except InvalidJob:
            return True
        return False

    def _must_wait(self, job: Job) -> bool:
        if self._sharing.ownership_of(job) is not Ownership.OURS:
            return True
        # More than the whole delay is left only if the clock was set back.
        left = job.not_before - self._clock()
        return not job.stop_requested and 0 < left <= retry_delay(job, self._settings.retry_delay)

    def _launch(self, job: Job) -> Job | None:
        if job.stop_requested:
            return self._apply(job, (), StateTransition(JobState.STOPPED, Reason.STOPPED_BY_USER))

        def reserve(job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
            return self._executor.reserve(job_id, roles, job.attempt)

        planned = replace(job, plan=planning.tasks(job, reserve, self._settings), tasks=())
        saved = self._save(planned.moved(JobState.STARTING, self._clock()))
        if saved is None and self._sharing.name and not self._sharing.reaches:
            self._executor.release(job.id)  # another server started the job first
        return saved

    def _step(self, job: Job) -> Job | None:
        gone = False
        if job.state is JobState.STARTING:
            sealed = self._sharing.with_fencing_token(job.plan)
            self._executor.start(job.id, sealed, self._secrets.of(job.id))
            self._notify()
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

    def _apply(self, job: Job, tasks: Sequence[TaskStatus], move: StateTransition) -> Job | None:
        moved = job.moved(move.state, self._clock(), move.reason)
        moved = replace(
            moved, tasks=tuple(tasks), failed_task=move.failed_task or moved.failed_task
        )
        if move.state is JobState.QUEUED or move.state.final:
            left = self._executor.outputs_left
            kept_at = [uri for task in tasks if task.progress for uri in task.progress.kept_at]
            moved = replace(
                moved,
                unstored=unstored_of(job, tasks, left),
                kept_at=tuple(dict.fromkeys([*job.kept_at, *kept_at])),
            )
        if move.state is JobState.QUEUED:
            moved = self._schedule_retry(moved)
        saved = self._save(moved)
        if saved is not None and saved.state.final:
            self._cleanup.release_job(saved)
        elif saved is not None and saved.state is JobState.QUEUED:
            self._executor.release(saved.id)  # other jobs may run while the retry waits
        return saved

    def _schedule_retry(self, job: Job) -> Job:
        reason = job.reason or Reason.AGENT_LOST
        again = replace(
            job,
            attempt=job.attempt + 1,
            retried={**job.retried, reason.value: job.retried.get(reason.value, 0) + 1},
            killed_at=killed_at(job),
            failed_task="",
            detail="",
        )
        wait = retry_delay(again, self._settings.retry_delay)
        return replace(again, not_before=self._clock() + wait)

    def _give_up(self, job: Job, error: Exception) -> None:
        """Fail a job that cannot be started. A job that already runs is tried again next tick.

        A starting job is stopped only after ``agent_timeout`` seconds without a transition.
        """
        detail = error.message if isinstance(error, DanluError) else repr(error)
        failed = replace(job, detail=detail)
        if job.state is JobState.QUEUED:
            user = isinstance(error, InvalidJob)
            reason = Reason.PREPARE_FAILED if user else Reason.PLATFORM_FAILED
            self._apply(failed, (), StateTransition(JobState.FAILED, reason))
        elif (
            job.state is JobState.STARTING
            and self._since_change(job) > self._settings.agent_timeout
        ):
            self._apply(
                failed, job.tasks, StateTransition(JobState.STOPPING, Reason.PLATFORM_FAILED)
            )

    def _since_change(self, job: Job) -> float:
        return self._clock() - job.history[-1].at

    def _save(self, job: Job, guard: WriteGuard | None = None) -> Job | None:
        saved = self._records.save(
            self._sharing.with_owner(job), guard or self._sharing.write_guard()
        )
        if saved is None:
            log.debug("job changed by another writer job=%s", job.id)
            self.wake()
            return None
        self._moved = True
        reason = saved.reason.value if saved.reason else "-"
        log.info("advance job=%s to=%s reason=%s", saved.id, saved.state.value, reason)
        self._unreported = True
        if saved.state is not JobState.STARTING:
            self._notify()
        return saved

    def _notify(self) -> None:
        """Notify the listener of a state transition.

        A starting job is announced only after its agents were started. Clients that wait for the
        job query it at once, which would delay the start.
        """
        if self._unreported:
            self._unreported = False
            self._changed()
