"""Job cleanup: resources of ended jobs, jobs revoked by other servers, crash recovery."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from danlu.errors import DanluError, NotFound
from danlu.executors.api import Executor
from danlu.job.job import Job, first_id
from danlu.job.state import JobState, Reason
from danlu.records.api import Records
from danlu.service.jobs.secrets import SecretFiles
from danlu.service.outputs.files import has_only_copy, tidy
from danlu.service.servers.ownership import OwnershipPolicy
from danlu.settings import Settings
from danlu.storage.cache import ContentCache

log = logging.getLogger(__name__)

_HOUR = 3600.0
_ENDED = tuple(state for state in JobState if state.final)


# A task that ended for one of these reasons may have outputs that are in no store. They are kept
# until the job is removed.
_UNSAFE = frozenset(
    {
        Reason.STORE_UNAVAILABLE,
        Reason.OUTPUTS_REFUSED,
        Reason.AGENT_LOST,
        Reason.DISK_FULL,
        Reason.PLATFORM_FAILED,
    }
)


class JobCleanup:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        secrets: SecretFiles,
        settings: Settings,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._executor = executor
        self._secrets = secrets
        self._settings = settings
        self._cache = ContentCache(Path(settings.cache), settings.cache_limit)
        self._clock = clock
        self._last_run = 0.0

    def release_job(self, job: Job) -> None:
        """Release all resources of an ended job. May be repeated."""
        self._secrets.drop(job.id)
        self.release_capacity(job.id)
        if _outputs_are_safe(job):
            self._executor.clear(job.id)

    def after_crash(self, job_id: str, *, unknown_was_removed: bool) -> None:
        """Finish the cleanup of a job after a server was killed around the end of the job.

        ``unknown_was_removed``: a job without a record was removed by another server; its files
        are removed. Otherwise the records were lost. The files are kept, because the outputs may
        exist nowhere else.
        """
        try:
            self.release_job(self._records.get(job_id))
        except NotFound:
            self.release_capacity(job_id)
            if unknown_was_removed:
                self._executor.clear(job_id, everything=True)
            else:
                log.warning("files of an unknown job are kept job=%s", job_id)

    def release_capacity(self, job_id: str) -> None:
        self._executor.release(job_id)
        self._cache.unpin(job_id)

    def run_hourly(self) -> bool:
        """Run the hourly cleanup and return True; return False if it ran less than an hour ago.

        Evicts cache entries and kept files beyond their limits. Removes the logs of jobs that
        ended more than ``log_days`` days ago.
        """
        now = self._clock()
        if 0 <= now - self._last_run < _HOUR:  # negative if the clock was set back
            return False
        self._last_run = now
        self._cache.evict()
        with contextlib.suppress(OSError, DanluError):  # full disk, or unavailable store
            tidy(self._executor, self._settings, now)
        self._drop_old_logs(now - self._settings.log_days * 24 * _HOUR)
        return True

    def _drop_old_logs(self, oldest: float) -> None:
        before = first_id(oldest)  # a job that ended before then was created before then
        while page := self._records.page(states=_ENDED, limit=500, before=before):
            for job in page:
                if job.ended is not None and job.ended < oldest and self._is_dispensable(job):
                    self._executor.clear(job.id, everything=True)
            before = page[-1].id

    def _is_dispensable(self, job: Job) -> bool:
        """Return True if no file of a job is an only copy."""
        if job.unstored or has_only_copy(self._executor, job.id):
            return False
        # Jobs of older Danlu versions have no list of unstored outputs.
        known = _outputs_are_safe(job) or job.stored_later
        return bool(known) or not any(map(self._executor.outputs_left, job.plan))


def _outputs_are_safe(job: Job) -> bool:
    if job.unstored:
        return False
    return job.reason not in _UNSAFE and all(
        task.outcome is not None and task.outcome.reason not in _UNSAFE for task in job.tasks
    )


class RevokedJobs:
    """Jobs with tasks on this server that now belong to another server or to none."""

    def __init__(self, executor: Executor, cleanup: JobCleanup, sharing: OwnershipPolicy) -> None:
        self._executor = executor
        self._cleanup = cleanup
        self._sharing = sharing
        self._jobs: set[str] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: Job) -> bool:
        return job.id in self._jobs

    def find(self, living: Iterable[Job]) -> None:
        """Find jobs with a reservation here that no longer belong to this server, and end them.

        The supervisor does not start such a job again here before its tasks are gone.
        """
        if not self._sharing.name or self._sharing.reaches:
            return
        held = set(self._executor.held())
        for job in living:
            ours = job.runs_on == self._sharing.name and job.state is not JobState.QUEUED
            if job.id in held and not ours:
                log.warning("job revoked job=%s runs_on=%s", job.id, job.runs_on or "-")
                self._jobs.add(job.id)
        self.end()

    def end(self) -> None:
        """Kill the tasks of revoked jobs. Release the resources of those without processes."""
        for job_id in tuple(self._jobs):
            if self._executor.revoke(job_id):
                self._jobs.discard(job_id)
                self._cleanup.release_capacity(job_id)
                self._executor.clear(job_id)


class CrashRecovery:
    def __init__(
        self,
        records: Records,
        executor: Executor,
        secrets: SecretFiles,
        cleanup: JobCleanup,
        revoked: RevokedJobs,
        sharing: OwnershipPolicy,
    ) -> None:
        self._records = records
        self._executor = executor
        self._secrets = secrets
        self._cleanup = cleanup
        self._revoked = revoked
        self._sharing = sharing

    def after_crash(self) -> None:
        """Release resources still held by ended jobs, and by jobs queued for their next attempt."""
        shared = bool(self._sharing.name)
        living = {job.id: job for job in self._records.living()}
        held = set(self._executor.held())
        for job_id in {*held, *self._executor.scratch()} - living.keys():
            self._cleanup.after_crash(job_id, unknown_was_removed=shared)
        if not shared:  # with shared records, another server may be about to start the job
            for job_id in held & living.keys():
                if living[job_id].state is JobState.QUEUED:
                    self._executor.release(job_id)
        self._secrets.drop_all_but(living)
        self._revoked.find(living.values())
