"""What is given back when a job has ended, and what is thrown away when it has long ended."""

import logging
import time
from collections.abc import Callable
from pathlib import Path

from danlu.errors import NotFound
from danlu.executors.api import Executor
from danlu.job.job import Job, first_id
from danlu.job.state import JobState, Reason
from danlu.records.api import Records
from danlu.service.keys import SecretFiles
from danlu.settings import Settings
from danlu.storage.cache import ContentCache

log = logging.getLogger(__name__)

_HOUR = 3600.0
_ENDED = tuple(state for state in JobState if state.final)


# Ended so, a task may hold outputs that reached no store: they stay until the job is removed.
_UNSAFE = frozenset(
    {
        Reason.STORE_UNAVAILABLE,
        Reason.OUTPUTS_REFUSED,
        Reason.AGENT_LOST,
        Reason.DISK_FULL,
        Reason.PLATFORM_FAILED,
    }
)


class Ending:
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
        self._kept_house = 0.0

    def of(self, job: Job) -> None:
        """Give back everything an ended job held. Harmless when repeated."""
        self._secrets.drop(job.id)
        self.room_of(job.id)
        if _outputs_are_safe(job):
            self._executor.clear(job.id)

    def after_crash(self, job_id: str, *, unknown_was_removed: bool) -> None:
        """Do what a server that was killed around the end of a job left undone.

        ``unknown_was_removed``: by another server, where nothing is known of it. Else the records
        were lost, and its outputs may be nowhere but here.
        """
        try:
            self.of(self._records.get(job_id))
        except NotFound:
            self.room_of(job_id)
            if unknown_was_removed:
                self._executor.remove(job_id)
            else:
                log.warning("files of an unknown job are kept job=%s", job_id)

    def room_of(self, job_id: str) -> None:
        self._executor.release(job_id)
        self._cache.unpin(job_id)

    def keep_house(self) -> bool:
        """Once an hour, and then True: the cache within its limit, no log older than its days."""
        now = self._clock()
        if now - self._kept_house < _HOUR:
            return False
        self._kept_house = now
        self._cache.evict()
        self._drop_old_logs(now - self._settings.log_days * 24 * _HOUR)
        return True

    def _drop_old_logs(self, oldest: float) -> None:
        before = first_id(oldest)  # whoever ended before then was created before then
        while page := self._records.page(states=_ENDED, limit=500, before=before):
            for job in page:
                if job.ended is not None and job.ended < oldest:
                    self._executor.remove(job.id)
            before = page[-1].id


def _outputs_are_safe(job: Job) -> bool:
    return job.reason not in _UNSAFE and all(
        task.outcome is not None and task.outcome.reason not in _UNSAFE for task in job.tasks
    )
