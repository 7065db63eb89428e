"""Tasks that still run here of jobs that another server has taken over meanwhile."""

import logging
from collections.abc import Iterable

from danlu.executors.api import Executor
from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.service.ending import Ending
from danlu.service.sharing import Sharing

log = logging.getLogger(__name__)


class Forsaken:
    def __init__(self, executor: Executor, ending: Ending, sharing: Sharing) -> None:
        self._executor = executor
        self._ending = ending
        self._sharing = sharing
        self._jobs: set[str] = set()

    def __len__(self) -> int:
        return len(self._jobs)

    def __contains__(self, job: Job) -> bool:
        return job.id in self._jobs

    def find(self, living: Iterable[Job]) -> None:
        """Look through what is held here for jobs that are not this server's any more.

        Until all of it is gone they are not begun again here.
        """
        if not self._sharing.name or self._sharing.reaches:
            return
        held = set(self._executor.held())
        for job in living:
            ours = job.runs_on == self._sharing.name and job.state is not JobState.QUEUED
            if job.id in held and not ours:
                log.warning("forsake job=%s runs_on=%s", job.id, job.runs_on or "-")
                self._jobs.add(job.id)
        self.end()

    def end(self) -> None:
        """Take the next step towards their end, and give their room back."""
        for job_id in tuple(self._jobs):
            if self._executor.forsake(job_id):
                self._jobs.discard(job_id)
                self._ending.room_of(job_id)
                self._executor.clear(job_id)
