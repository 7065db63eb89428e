"""Jobs and definitions in memory, for tests that need no disk."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.errors import Conflict
from danlu.job.definition import Definition
from danlu.job.job import Job
from danlu.job.server import Lease, Right, Server
from danlu.job.state import JobState
from danlu.records.lookup import no_definition, only, taken


class MemoryRecords:
    """See :class:`danlu.records.api.Records`; gone with the process."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._servers: dict[str, Server] = {}  # here ``left`` is when the lease ends
        self._agreed: dict[str, str] = {}
        self._jobs: dict[str, Job] = {}
        self._tokens: dict[str, str] = {}
        self._defined: list[Definition] = []
        self._removed: set[tuple[str, str, int]] = set()
        self._lock = threading.Lock()

    def add(
        self,
        job: Job,
        token: str = "",
        check: Callable[[Sequence[Job]], None] | None = None,
    ) -> Job:
        with self._lock:
            known = self._jobs.get(self._tokens.get(token, ""))
            if known is not None:
                return known
            if check is not None:
                check(self._living())
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

    def save(self, job: Job, right: Right | None = None) -> Job | None:
        with self._lock:
            if right is not None and not self._holds(right):
                return None
            known = self._jobs.get(job.id)
            if known is None or known.version != job.version:
                return None
            self._jobs[job.id] = replace(job, version=job.version + 1)
            return self._jobs[job.id]

    def living(self) -> Sequence[Job]:
        with self._lock:
            return self._living()

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

    def define(
        self, kind: str, name: str, document: Mapping[str, Any], created: float
    ) -> Definition:
        with self._lock:
            for newest in self._versions(kind, name)[:1]:
                if newest.document == document:
                    return newest
            given = [d.version for d in self._defined if (d.kind, d.name) == (kind, name)]
            new = Definition(kind, name, max(given, default=0) + 1, created, dict(document))
            self._defined.append(new)
            return new

    def definition(self, kind: str, name: str, version: int | None = None) -> Definition:
        with self._lock:
            versions = self._versions(kind, name)
            names = {d.name for d in self._there(kind)}
        for found in versions:
            if version in (None, found.version):
                return found
        raise no_definition(kind, name, version, [d.version for d in versions], names)

    def definitions(self, kind: str, name: str = "") -> Sequence[Definition]:
        with self._lock:
            if name:
                return tuple(self._versions(kind, name))
            names = sorted({d.name for d in self._there(kind)})
            return tuple(self._versions(kind, each)[0] for each in names)

    def undefine(self, kind: str, name: str, version: int | None = None) -> None:
        self.definition(kind, name, version)
        with self._lock:
            for found in self._versions(kind, name):
                if version in (None, found.version):
                    self._removed.add((kind, name, found.version))

    def take(
        self, server: str, seconds: float, *, host: str = "", executor: str = "", url: str = ""
    ) -> Lease:
        with self._lock:
            fence = self._servers[server].fence + 1 if server in self._servers else 1
            until = self._clock() + seconds
            self._servers[server] = Server(server, fence, until, host, executor, url)
            return Lease(server, fence)

    def renew(self, lease: Lease, seconds: float) -> bool:
        with self._lock:
            if not self._holds(Right(lease)):
                return False
            known = self._servers[lease.server]
            self._servers[lease.server] = replace(known, left=self._clock() + seconds)
            return True

    def servers(self) -> Sequence[Server]:
        with self._lock:
            known = sorted(self._servers.values(), key=lambda server: server.name)
            return tuple(replace(server, left=server.left - self._clock()) for server in known)

    def agree(self, name: str, value: str) -> str:
        with self._lock:
            return self._agreed.setdefault(name, value)

    def close(self) -> None:
        """Nothing to close: what was remembered can still be read."""

    def _living(self) -> Sequence[Job]:
        found = [job for job in self._jobs.values() if not job.state.final]
        return tuple(sorted(found, key=lambda job: (-job.spec.priority, job.created, job.id)))

    def _holds(self, right: Right) -> bool:
        now, mine = self._clock(), self._servers.get(right.lease.server)
        if mine is None or mine.fence != right.lease.fence or mine.left <= now:
            return False
        other = self._servers.get(right.over)
        return other is None or other.left + right.since <= now

    def _there(self, kind: str) -> list[Definition]:
        return [
            d
            for d in self._defined
            if d.kind == kind and (kind, d.name, d.version) not in self._removed
        ]

    def _versions(self, kind: str, name: str) -> list[Definition]:
        return [d for d in reversed(self._there(kind)) if d.name == name]

    def _newest_first(self) -> list[Job]:
        return sorted(self._jobs.values(), key=lambda job: job.id, reverse=True)


def _begins(job: Job, reference: str) -> bool:
    return job.id.startswith(reference) or job.name.startswith(reference)
