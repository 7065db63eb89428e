"""Jobs and definitions in a database that speaks SQL: what each operation says to it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from danlu.errors import Conflict
from danlu.job.definition import Definition
from danlu.job.job import Job
from danlu.job.server import Lease, Right, Server
from danlu.job.state import LIVING, JobState
from danlu.job.wire import from_wire, to_wire
from danlu.records import definitions, leases
from danlu.records.database import Database
from danlu.records.lookup import SHOWN, only, taken
from danlu.records.schema import Schema, jobs
from danlu.records.sqlite import SqliteDatabase, prepare

PATIENCE = 5.0
_NEAR = 1000  # newest names among which a near one is looked for
_AT_ONCE = 500  # SQLite before 3.32 takes 999 values in a statement


def open_records(
    place: Path | str, *, patience: float = PATIENCE, schema: Schema | None = None
) -> "SqlRecords":
    """Open the SQLite file at a path, or the PostgreSQL database a URL names.

    A missing file is made, an older database is upgraded. A copy of an older file stays beside
    it as ``<name>.<revision>.backup``.

    Raises:
        Refused: it was written by a newer program, or is not ours.
        Unavailable: it does not answer.
    """
    wanted = schema or Schema()
    if isinstance(place, str):
        from danlu.records.postgres import open_postgres

        return SqlRecords(open_postgres(place, patience, wanted))
    prepare(place, patience, wanted)
    return SqlRecords(SqliteDatabase(place, patience))


class SqlRecords:
    """See :class:`danlu.records.api.Records`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._living: tuple[Job, ...] = ()  # as last read

    def add(
        self,
        job: Job,
        token: str = "",
        check: Callable[[Sequence[Job]], None] | None = None,
    ) -> Job:
        with self._database.writing(new=True) as connection:
            known = _with_token(connection, token)
            if known is not None:
                return known
            if check is not None:
                check(self.living())
            same = or_(jobs.c.name == job.name, jobs.c.id == job.id)
            for row in connection.execute(select(jobs.c.id, jobs.c.name).where(same)):
                raise taken(job.name) if row.name == job.name else _id_taken(job.id)
            values = {"id": job.id, "name": job.name, "created": job.created, **_columns(job)}
            connection.execute(jobs.insert().values(**values, token=token or None))
        return job

    def by_token(self, token: str) -> Job | None:
        with self._database.reading() as connection:
            return _with_token(connection, token)

    def get(self, reference: str) -> Job:
        reference = _storable(reference)
        exact = or_(jobs.c.id == reference, jobs.c.name == reference)
        wanted = select(jobs.c.document).where(exact).order_by(jobs.c.id != reference)
        with self._database.reading() as connection:
            document = connection.scalar(wanted.limit(1))
            if document is None:
                rows = connection.execute(_beginning(reference)) if reference else ()
                pairs = [(row.id, row.name) for row in rows]
                recent = select(jobs.c.name).order_by(jobs.c.id.desc()).limit(_NEAR)
                names = () if pairs else connection.scalars(recent)
                found = only(reference, pairs, names)
                document = connection.scalar(select(jobs.c.document).where(jobs.c.id == found))
        # Removed between two statements: what is said of a job that never was is true again.
        return self.get(reference) if document is None else _job(document)

    def save(self, job: Job, right: Right | None = None) -> Job | None:
        written = replace(job, version=job.version + 1)
        unchanged = (jobs.c.id == job.id) & (jobs.c.version == job.version)
        with self._database.writing() as connection:
            if right is not None and not self._holds(connection, right):
                return None
            statement = jobs.update().where(unchanged).values(**_columns(written))
            changed = connection.execute(statement).rowcount
        return written if changed else None

    def living(self) -> Sequence[Job]:
        wanted = select(jobs.c.id, jobs.c.version).where(jobs.c.state.in_(_values(LIVING)))
        order = jobs.c.priority.desc(), jobs.c.created, jobs.c.id
        with self._database.reading() as connection:
            rows = connection.execute(wanted.order_by(*order)).all()
            # Asked every second, and of thousands of waiting jobs nearly none has changed.
            known = {job.id: job for job in self._living}
            changed = [i for i, version in rows if i not in known or known[i].version != version]
            known |= {job.id: job for job in _documents(connection, changed)}
        found = (known.get(job_id) for job_id, _ in rows)
        self._living = tuple(job for job in found if job is not None and not job.state.final)
        return self._living

    def page(
        self, *, states: Sequence[JobState] = (), name: str = "", limit: int = 50, before: str = ""
    ) -> Sequence[Job]:
        with self._database.reading() as connection:
            wanted = _page(states, _storable(name), limit, _storable(before))
            documents = connection.scalars(wanted).all()
        return tuple(_job(document) for document in documents)

    def remove(self, job_id: str) -> None:
        with self._database.writing() as connection:
            connection.execute(jobs.delete().where(jobs.c.id == job_id))

    def define(
        self, kind: str, name: str, document: Mapping[str, Any], created: float
    ) -> Definition:
        with self._database.writing(new=True) as connection:
            return definitions.add(connection, kind, name, document, created)

    def definition(self, kind: str, name: str, version: int | None = None) -> Definition:
        with self._database.reading() as connection:
            return definitions.get(connection, kind, _storable(name), version)

    def definitions(self, kind: str, name: str = "") -> Sequence[Definition]:
        with self._database.reading() as connection:
            return definitions.listed(connection, kind, _storable(name))

    def undefine(self, kind: str, name: str, version: int | None = None) -> None:
        with self._database.writing() as connection:
            definitions.remove(connection, kind, _storable(name), version)

    def take(
        self, server: str, seconds: float, *, host: str = "", executor: str = "", url: str = ""
    ) -> Lease:
        with self._database.writing(new=True) as connection:
            about = {"host": host, "executor": executor, "url": url}
            return leases.take(connection, self._clock(connection), server, seconds, about)

    def renew(self, lease: Lease, seconds: float) -> bool:
        with self._database.writing() as connection:
            return leases.renew(connection, self._clock(connection), lease, seconds)

    def servers(self) -> Sequence[Server]:
        with self._database.reading() as connection:
            return leases.listed(connection, self._database.now(connection))

    def agree(self, name: str, value: str) -> str:
        with self._database.writing(new=True) as connection:
            return leases.agree(connection, name, value)

    def close(self) -> None:
        self._database.close()

    def _holds(self, connection: Connection, right: Right) -> bool:
        return leases.holds(connection, self._clock(connection), right)

    def _clock(self, connection: Connection) -> leases.Clock:
        return partial(self._database.now, connection)


def _with_token(connection: Connection, token: str) -> Job | None:
    if not token:
        return None
    document = connection.scalar(select(jobs.c.document).where(jobs.c.token == token))
    return None if document is None else _job(document)


def _page(states: Sequence[JobState], name: str, limit: int, before: str) -> Select[str]:
    chosen = select(jobs.c.id).order_by(jobs.c.id.desc()).limit(limit)
    if before:
        chosen = chosen.where(jobs.c.id < before)
    if states:
        chosen = chosen.where(jobs.c.state.in_(_values(states)))
    if name:
        chosen = chosen.where(jobs.c.name.icontains(name, autoescape=True))
    rows = select(jobs.c.document).where(jobs.c.id.in_(chosen))
    return rows.order_by(jobs.c.id.desc())


def _documents(connection: Connection, ids: Sequence[str]) -> Iterator[Job]:
    for at in range(0, len(ids), _AT_ONCE):
        chosen = jobs.c.id.in_(ids[at : at + _AT_ONCE])
        yield from map(_job, connection.scalars(select(jobs.c.document).where(chosen)))


def _storable(text: str) -> str:
    """No database takes lone surrogates, and PostgreSQL no NUL: what has them is in no record."""
    return text.encode(errors="replace").decode().replace("\0", "?")


def _values(states: Sequence[JobState]) -> list[str]:
    return [state.value for state in states]


def _beginning(reference: str) -> Select[str, str]:
    length = len(reference)
    fits = or_(
        func.substr(jobs.c.id, 1, length) == reference,
        func.substr(jobs.c.name, 1, length) == reference,
    )
    wanted = select(jobs.c.id, jobs.c.name).where(fits)
    return wanted.order_by(jobs.c.id.desc()).limit(SHOWN + 1)


def _columns(job: Job) -> dict[str, Any]:
    """What a later write may change. Name and time of creation stay."""
    return {
        "state": job.state.value,
        "priority": job.spec.priority,
        "version": job.version,
        "document": json.dumps(to_wire(job), separators=(",", ":")),
    }


def _job(document: str) -> Job:
    return from_wire(Job, json.loads(document))


def _id_taken(job_id: str) -> Conflict:
    return Conflict(f"There is already a job with the id {job_id!r}.", hint="Submit it again.")
