"""Whose turn it is: which jobs this server moves where several share the records.

A queued job belongs to nobody; the server it was given to comes first. A job that runs belongs to
the server whose machine runs it, also while that one is away. Gone for longer than
``server_timeout``, it loses its jobs to whoever comes first. Where any server reaches the tasks
(a cluster), the end of its lease is enough.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol

from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.server import Lease, Right, Server
from danlu.job.state import JobState
from danlu.service.tenure import Tenure

COURTESY = 1.0  # seconds in which the server a job was given to may start it itself


class Turn(Enum):
    OURS = "ours"
    THEIRS = "theirs"
    ORPHANED = "orphaned"  # ours, once it is taken over


class Sharing(Protocol):
    """What a supervisor asks. Not for several threads, but for ``name`` and :meth:`server`."""

    name: str  # of this server; empty: it is alone
    reaches: bool  # the tasks of others too, where they run by the same executor

    def begin(self) -> int | None:
        """Begin a round under the lease held now; its fence, or None without a lease."""

    def turn(self, job: Job) -> Turn: ...

    def goes_on(self, job: Job) -> bool: ...

    def right(self, job: Job | None = None) -> Right | None:
        """Return what a write of this round depends on; of an orphaned ``job``, its takeover."""

    def signed(self, job: Job) -> Job:
        """Return a job as this server's own word."""

    def sealed(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return tasks that can only be started in the lease of this round."""

    def server(self, name: str) -> Server | None:
        """Return another server as it is now."""


class Alone:
    """One server has the records for itself."""

    name = ""
    reaches = False

    def begin(self) -> int | None:
        return 0

    def turn(self, job: Job) -> Turn:
        return Turn.OURS

    def goes_on(self, job: Job) -> bool:
        return True

    def right(self, job: Job | None = None) -> Right | None:
        return None

    def signed(self, job: Job) -> Job:
        return job

    def sealed(self, tasks: Sequence[Task]) -> Sequence[Task]:
        return tasks

    def server(self, name: str) -> Server | None:
        return None


class Shared:
    """``executor``: where this server's tasks run. Of a cluster every server is the master."""

    def __init__(
        self,
        tenure: Tenure,
        *,
        timeout: float,
        executor: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = tenure.name
        self._tenure = tenure
        self._timeout = timeout
        self._executor = executor
        self.reaches = executor == "ray"
        self._clock = clock
        self._lease: Lease | None = None
        self._waiting: dict[str, float] = {}  # jobs given to others, and when they were first seen
        self._still: dict[str, float] = {}  # those of this round

    def begin(self) -> int | None:
        self._lease = self._tenure.lease()
        self._waiting, self._still = self._still, {}
        return None if self._lease is None else self._lease.fence

    def turn(self, job: Job) -> Turn:
        if job.state is JobState.QUEUED:
            return self._queued(job)
        if job.runs_on in ("", self.name):
            return Turn.OURS
        gone = self._tenure.gone_for(job.runs_on)
        if self.goes_on(job):
            return Turn.ORPHANED if gone else Turn.THEIRS
        return Turn.ORPHANED if self._timeout and gone > self._timeout else Turn.THEIRS

    def goes_on(self, job: Job) -> bool:
        """Tell whether the very tasks of a job that is taken over can be gone on with."""
        other = self._tenure.seen(job.runs_on)
        return self.reaches and other is not None and other.executor == self._executor

    def right(self, job: Job | None = None) -> Right | None:
        if self._lease is None:
            raise RuntimeError("a write outside of a round")
        if job is None:
            return Right(self._lease)
        other = job.accepted_by if job.state is JobState.QUEUED else job.runs_on
        return Right(self._lease, other, 0.0 if self.goes_on(job) else self._timeout)

    def signed(self, job: Job) -> Job:
        fence = self._lease.fence if self._lease is not None else 0
        runs = job.plan and job.state is not JobState.QUEUED
        return replace(job, runs_on=self.name if runs else "", fence=fence)

    def sealed(self, tasks: Sequence[Task]) -> Sequence[Task]:
        if self.reaches or self._lease is None:
            return tasks  # claims and fences lie where every server sees them
        # Gone well before another server starts the next attempt.
        fence, end = self._lease.fence, self._timeout / 2
        return [replace(t, fence=fence, limits=replace(t.limits, lease=end)) for t in tasks]

    def server(self, name: str) -> Server | None:
        return self._tenure.now(name)

    def _queued(self, job: Job) -> Turn:
        if job.accepted_by in ("", self.name):
            return Turn.OURS
        gone = self._tenure.gone_for(job.accepted_by)
        if job.spec.secrets:
            # They are in no record: only the server that was given them can start the job.
            return Turn.ORPHANED if self._timeout and gone > self._timeout else Turn.THEIRS
        if gone:
            return Turn.OURS
        since = self._waiting.get(job.id, self._still.get(job.id, self._clock()))
        self._still[job.id] = since
        return Turn.OURS if self._clock() - since >= COURTESY else Turn.THEIRS
