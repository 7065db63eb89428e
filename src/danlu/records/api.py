"""What is remembered of jobs, and of what jobs are made from."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from danlu.job.definition import Definition
from danlu.job.job import Job
from danlu.job.server import Lease, Right, Server
from danlu.job.state import JobState


class Records(Protocol):
    """Jobs and definitions, durably.

    Safe to use from several threads; a method returns when it is on disk.

    Every method raises Unavailable when the store does not answer in time: the caller may try
    again, nothing was half done.
    """

    def add(
        self,
        job: Job,
        token: str = "",
        check: Callable[[Sequence[Job]], None] | None = None,
    ) -> Job:
        """Remember a new job and return it, durable against loss of power.

        A ``token`` seen before returns the job that came with it: a repeat is harmless.
        ``check`` is given the living jobs and may raise; nobody adds one after it has looked.

        Raises:
            Conflict: another job has this name.
        """

    def by_token(self, token: str) -> Job | None:
        """Return the job that came with a token, or None."""

    def get(self, reference: str) -> Job:
        """Return a job by id, by name, or by the beginning of either where only one fits.

        Raises:
            NotFound: there is none, with near names; or several fit, which are named.
        """

    def save(self, job: Job, right: Right | None = None) -> Job | None:
        """Write a job back if nobody wrote it since it was read; None when somebody did.

        The returned job has the next version. A job that was removed counts as written.
        With a ``right``: also None, and nothing is written, when it does not hold (any more).
        """

    def living(self) -> Sequence[Job]:
        """Return every job that has not ended: highest priority first, then oldest first."""

    def page(
        self, *, states: Sequence[JobState] = (), name: str = "", limit: int = 50, before: str = ""
    ) -> Sequence[Job]:
        """Return jobs, newest first: in ``states``, with ``name`` in their name, older than the
        job with id ``before``."""

    def remove(self, job_id: str) -> None:
        """Forget a job. Its name is free again."""

    def define(
        self, kind: str, name: str, document: Mapping[str, Any], created: float
    ) -> Definition:
        """Remember the next version of a name and return it, durable against loss of power.

        A document equal to the newest version's returns that one: a repeat is harmless. A number
        is given once, also when the version it was given to has been removed.
        """

    def definition(self, kind: str, name: str, version: int | None = None) -> Definition:
        """Return one version, the newest unless told.

        Raises:
            NotFound: there is none, with near names, or with the versions there are.
        """

    def definitions(self, kind: str, name: str = "") -> Sequence[Definition]:
        """Return the newest version of every name, by name; of one name every version, newest
        first."""

    def undefine(self, kind: str, name: str, version: int | None = None) -> None:
        """Forget one version, or every one. Raises as :meth:`definition` does."""

    def take(
        self, server: str, seconds: float, *, host: str = "", executor: str = "", url: str = ""
    ) -> Lease:
        """Give a server the right to move jobs, for so long; any it had before has ended."""

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Let a lease hold so long from now; False when it has ended, for good."""

    def servers(self) -> Sequence[Server]:
        """Return every server that ever held a lease, by name."""

    def agree(self, name: str, value: str) -> str:
        """Return what all servers hold to: the value that was offered first."""

    def close(self) -> None: ...
