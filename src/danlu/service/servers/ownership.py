"""Job ownership: which jobs this server advances if several servers share the records.

A queued job has no owner; the server that accepted it has a head start. A running job belongs to
the server that runs its tasks, also while that server is away. If its lease has been expired for
longer than ``server_timeout``, the first other server takes over its jobs. If every server can
reach the tasks (a cluster), the expiry of the lease is sufficient.
"""

import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol
from urllib.parse import urlsplit

from danlu.errors import OnOtherServer
from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.state import JobState, Lease, Server, WriteGuard
from danlu.messages import get_message
from danlu.service.servers.lease import ServerLease

OWNER_HEAD_START = 1.0  # seconds in which only the server that accepted a job may start it


class Ownership(Enum):
    OURS = "ours"
    THEIRS = "theirs"
    ORPHANED = "orphaned"  # this server may take it over


class OwnershipPolicy(Protocol):
    """The ownership decisions of a supervisor.

    Not thread-safe, except ``name`` and :meth:`server`.
    """

    name: str  # of this server; empty if it does not share the records
    reaches: bool  # True if this server reaches tasks that other servers started by its executor

    def begin(self) -> int | None:
        """Begin a tick under the current lease; return its fencing token, or None without one."""

    def ownership_of(self, job: Job) -> Ownership: ...

    def can_adopt_tasks(self, job: Job) -> bool: ...

    def write_guard(self, job: Job | None = None) -> WriteGuard | None:
        """Return the guard for writes of this tick, or for the takeover of an orphaned ``job``."""

    def with_owner(self, job: Job) -> Job:
        """Return the job with this server as its owner."""

    def with_fencing_token(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return the tasks with the fencing token of this tick's lease.

        They can only be started under that lease.
        """

    def server(self, name: str) -> Server | None:
        """Return the current state of another server."""


class SingleServer:
    """The policy of a server that does not share its records: it owns every job."""

    name = ""
    reaches = False

    def begin(self) -> int | None:
        return 0

    def ownership_of(self, job: Job) -> Ownership:
        return Ownership.OURS

    def can_adopt_tasks(self, job: Job) -> bool:
        return True

    def write_guard(self, job: Job | None = None) -> WriteGuard | None:
        return None

    def with_owner(self, job: Job) -> Job:
        return job

    def with_fencing_token(self, tasks: Sequence[Task]) -> Sequence[Task]:
        return tasks

    def server(self, name: str) -> Server | None:
        return None


class SharedDatabase:
    """The policy of servers that share a database.

    ``executor`` is the executor of this server. Every server can control the tasks of a cluster.
    """

    def __init__(
        self,
        lease: ServerLease,
        *,
        timeout: float,
        executor: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = lease.name
        self._server_lease = lease
        self._timeout = timeout
        self._executor = executor
        self.reaches = executor == "ray"
        self._clock = clock
        self._lease: Lease | None = None
        self._waiting: dict[str, float] = {}  # jobs accepted by others, and first seen
        self._still: dict[str, float] = {}  # the same for jobs seen in this tick

    def begin(self) -> int | None:
        self._lease = self._server_lease.lease()
        self._waiting, self._still = self._still, {}
        return None if self._lease is None else self._lease.fence

    def ownership_of(self, job: Job) -> Ownership:
        if job.state is JobState.QUEUED:
            return self._queued(job)
        if job.runs_on in ("", self.name):
            return Ownership.OURS
        gone = self._server_lease.seconds_without_lease(job.runs_on)
        if self.can_adopt_tasks(job):
            return Ownership.ORPHANED if gone else Ownership.THEIRS
        return Ownership.ORPHANED if self._timeout and gone > self._timeout else Ownership.THEIRS

    def can_adopt_tasks(self, job: Job) -> bool:
        """Return True if a takeover of the job can adopt its running tasks."""
        other = self._server_lease.last_known(job.runs_on)
        return self.reaches and other is not None and other.executor == self._executor

    def write_guard(self, job: Job | None = None) -> WriteGuard | None:
        if self._lease is None:
            raise RuntimeError("a write outside of a round")
        if job is None:
            return WriteGuard(self._lease)
        other = job.accepted_by if job.state is JobState.QUEUED else job.runs_on
        return WriteGuard(self._lease, other, 0.0 if self.can_adopt_tasks(job) else self._timeout)

    def with_owner(self, job: Job) -> Job:
        fence = self._lease.fence if self._lease is not None else 0
        runs = job.plan and job.state is not JobState.QUEUED
        return replace(job, runs_on=self.name if runs else "", fence=fence)

    def with_fencing_token(self, tasks: Sequence[Task]) -> Sequence[Task]:
        if self.reaches or self._lease is None:
            return tasks  # every server sees the claims and attempt fences of a cluster
        # The agent must exit well before another server starts the next attempt.
        fence, end = self._lease.fence, self._timeout / 2
        return [replace(t, fence=fence, limits=replace(t.limits, lease=end)) for t in tasks]

    def server(self, name: str) -> Server | None:
        return self._server_lease.query_server(name)

    def _queued(self, job: Job) -> Ownership:
        if job.accepted_by in ("", self.name):
            return Ownership.OURS
        gone = self._server_lease.seconds_without_lease(job.accepted_by)
        if job.spec.secrets:
            # Secrets are in no record: only the server that received them can start the job.
            return (
                Ownership.ORPHANED if self._timeout and gone > self._timeout else Ownership.THEIRS
            )
        if gone:
            return Ownership.OURS
        since = self._waiting.get(job.id, self._still.get(job.id, self._clock()))
        self._still[job.id] = since
        return Ownership.OURS if self._clock() - since >= OWNER_HEAD_START else Ownership.THEIRS


class JobLocation:
    def __init__(self, sharing: OwnershipPolicy) -> None:
        self._sharing = sharing

    def is_here(self, job: Job) -> bool:
        return job.runs_on in ("", self._sharing.name) or self._sharing.can_adopt_tasks(job)

    def require_local(self, job: Job, *, unless_gone: bool = False) -> None:
        """Raise if the files of a job are on another server.

        ``unless_gone``: do not raise if that server has no valid lease.

        Raises:
            OnOtherServer: the files of the job are on another server.
        """
        if self.is_here(job):
            return
        other = self._sharing.server(job.runs_on)
        living = other is not None and other.living
        if unless_gone and not living:
            return
        url = _reachable(other) if other is not None and living else ""
        key = ("job.ask_there" if url else "job.no_address") if living else "job.server_silent"
        raise OnOtherServer(
            get_message("job.on_other_server", name=job.name, server=job.runs_on),
            hint=get_message(key, url=url),
            server=job.runs_on,
            url=url,
        )


def _reachable(server: Server) -> str:
    """Return the URL of a server; "" if it is a loopback address of another machine."""
    host = urlsplit(server.url).hostname or ""
    only_there = host in ("localhost", "::1") or host.startswith("127.")
    return "" if only_there and server.host != socket.gethostname() else server.url
