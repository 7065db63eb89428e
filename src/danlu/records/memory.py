"""Jobs in memory, for tests that need no disk."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from danlu.errors import Conflict
from danlu.job.job import Job
from danlu.job.state import JobState
from danlu.records.lookup import only, taken


class MemoryRecords:
    """See :class:`danlu.records.api.Records`; gone with the process."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tokens: dict[str, str] = {}
        self._lock = threading.Lock()

    def add(self, job: Job, token: str = "") -> Job:
        with self._lock:
            known = self._jobs.get(self._tokens.get(token, ""))
            if known is not None:
                return known
            if any(other.name == job.name for other in self._jobs.values()):
                raise taken(job.name)
            if job.id in self._jobs:
                raise Conflict(f"There is already a job with the id {job.id!r}.")
            self._jobs[job.id] = job
            if token:
                self._tokens[token] = job.id
            return job

    def by_token(self, token: str) -> Job | None:
        with self._lock:
            return self._jobs.get(self._tokens.get(token, ""))

    def get(self, reference: str) -> Job:
        with self._lock:
            jobs = self._newest_first()
        for job in jobs:
            if job.id == reference:
                return job
        for job in jobs:
            if job.name == reference:
                return job
        fits = [job for job in jobs if reference and _begins(job, reference)]
        found = only(reference, [(j.id, j.name) for j in fits], [j.name for j in jobs])
        return next(job for job in fits if job.id == found)

    def save(self, job: Job) -> Job | None:
        with self._lock:
            known = self._jobs.get(job.id)
            if known is None or known.version != job.version:
                return None
            self._jobs[job.id] = replace(job, version=job.version + 1)
            return self._jobs[job.id]

    def living(self) -> Sequence[Job]:
        with self._lock:
            found = [job for job in self._jobs.values() if not job.state.final]
        return tuple(sorted(found, key=lambda job: (-job.spec.priority, job.created, job.id)))

    def page(
        self, *, states: Sequence[JobState] = (), name: str = "", limit: int = 50, before: str = ""
    ) -> Sequence[Job]:
        with self._lock:
            jobs = self._newest_first()
        fits = (
            job
            for job in jobs
            if (not before or job.id < before)
            and (not states or job.state in states)
            and name.lower() in job.name.lower()
        )
        return tuple(fits)[:limit]

    def remove(self, job_id: str) -> None:
        with self._lock:
            self._jobs.pop(job_id, None)

    def close(self) -> None:
        """Nothing to close: what was remembered can still be read."""

    def _newest_first(self) -> list[Job]:
        return sorted(self._jobs.values(), key=lambda job: job.id, reverse=True)


def _begins(job: Job, reference: str) -> bool:
    return job.id.startswith(reference) or job.name.startswith(reference)
