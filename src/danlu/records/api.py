"""The records interface: storage of jobs, definitions and server leases."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from danlu.errors import Conflict, NotFound
from danlu.job.job import Job
from danlu.job.state import JobState, Lease, Server, WriteGuard
from danlu.job.versions import CALLED, Definition, Reference
from danlu.messages import get_message


class Records(Protocol):
    """Durable storage of jobs, definitions and leases.

    Safe to use from several threads. A method returns after its change is committed.

    Every method raises Unavailable if the database does not answer in time. No change is partial,
    so the caller may retry.
    """

    def add(
        self,
        job: Job,
        token: str = "",
        check: Callable[[Sequence[Job]], None] | None = None,
    ) -> Job:
        """Store a new job and return it. It survives a power failure.

        A ``token`` that was used before returns the job stored with it, so a repeated call is
        harmless. ``check`` receives the living jobs and may raise. No other job is added between
        the check and the insert.

        Raises:
            Conflict: another job has this name.
        """

    def by_token(self, token: str) -> Job | None:
        """Return the job that was added with ``token``, or None."""

    def get(self, reference: str) -> Job:
        """Return a job by id, by name, or by a unique prefix of either.

        Raises:
            NotFound: there is none (the hint lists similar names), or the prefix is not unique
                (the hint lists the jobs).
        """

    def save(self, job: Job, right: WriteGuard | None = None) -> Job | None:
        """Write a job if its version is unchanged since it was read; return None if it changed.

        The returned job has the next version. For a removed job the result is None as well. With a
        ``right`` that does not hold, nothing is written and the result is None.
        """

    def living(self) -> Sequence[Job]:
        """Return every job that has not ended, by descending priority, then oldest first."""

    def page(
        self, *, states: Sequence[JobState] = (), name: str = "", limit: int = 50, before: str = ""
    ) -> Sequence[Job]:
        """Return at most ``limit`` jobs, newest first.

        Filters: a state in ``states``, ``name`` as part of the name, older than the job with the
        id ``before``.
        """

    def remove(self, job_id: str) -> None:
        """Delete a job. Its name is free again."""

    def define(
        self, kind: str, name: str, document: Mapping[str, Any], created: float
    ) -> Definition:
        """Store the next version of a definition and return it. It survives a power failure.

        If the newest version has an equal document, it is returned and nothing is stored, so a
        repeated call is harmless. A version number is never reused, even after its removal.
        """

    def definition(self, kind: str, name: str, version: int | None = None) -> Definition:
        """Return one version of a definition, by default the newest.

        Raises:
            NotFound: there is none; the hint lists similar names, or the existing versions.
        """

    def definitions(self, kind: str, name: str = "") -> Sequence[Definition]:
        """Return the newest version of every name, ordered by name.

        With ``name``, return every version of it, newest first.
        """

    def undefine(self, kind: str, name: str, version: int | None = None) -> None:
        """Remove one version, or all versions. Raises NotFound as :meth:`definition` does."""

    def take(
        self, server: str, seconds: float, *, host: str = "", executor: str = "", url: str = ""
    ) -> Lease:
        """Give a server a lease for ``seconds``. Any earlier lease of the server ends.

        The lease is the right to change the state of jobs.
        """

    def renew(self, lease: Lease, seconds: float) -> bool:
        """Extend a lease to ``seconds`` from now; return False if it has ended, which is final."""

    def servers(self) -> Sequence[Server]:
        """Return every server that ever had a lease, ordered by name."""

    def agree(self, name: str, value: str) -> str:
        """Return the value that all servers use for ``name``: the first one that was offered."""

    def close(self) -> None: ...


SHOWN = 5


def only(reference: str, fits: Sequence[tuple[str, str]], names: Iterable[str]) -> str:
    """Return the id of the only pair of id and name in ``fits``.

    Raises:
        NotFound: there is none (the hint names the nearest of ``names``), or there are several.
    """
    if len(fits) == 1:
        return fits[0][0]
    if fits:
        listed = ", ".join(f"{name} ({job_id})" for job_id, name in fits[:SHOWN])
        listed += ", …" if len(fits) > SHOWN else ""
        hint = get_message("job.several", names=listed)
        raise NotFound("job", reference, hint=hint)
    near = difflib.get_close_matches(reference, names, n=1, cutoff=0.8)
    hint = "" if near else get_message("job.see_all")
    raise NotFound("job", reference, known=near, hint=hint)


def taken(name: str) -> Conflict:
    return Conflict.from_key("job.name_taken", name=name)


def no_definition(
    kind: str, name: str, version: int | None, versions: Sequence[int], names: Iterable[str]
) -> NotFound:
    """Return the error for a definition that does not exist."""
    asked = str(Reference(name, version))
    if versions:
        there = ", ".join(map(str, sorted(versions)))
        return NotFound(
            CALLED[kind], asked, hint=get_message("definition.its_versions", there=there)
        )
    return NotFound(CALLED[kind], asked, known=(n for n in names if n != name))
