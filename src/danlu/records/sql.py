"""Records in an SQL database: the statements of each operation."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Connection, Select, func, or_, select

from danlu.errors import Conflict
from danlu.job.job import Job
from danlu.job.state import LIVING, JobState, Lease, Server, WriteGuard
from danlu.job.versions import Definition
from danlu.job.wire import from_wire, to_wire
from danlu.records.api import SHOWN, no_definition, only, taken
from danlu.records.schema import Schema, agreements, definitions, jobs, servers
from danlu.records.sqlite import SqliteDatabase, prepare


class Database(Protocol):
    """A database connection pool. Safe to use from several threads.

    Every use raises Unavailable if the database does not answer in time.
    """

    def reading(self) -> AbstractContextManager[Connection]:
        """Return a connection for reading. It never waits for writers."""

    def writing(self, *, new: bool = False) -> AbstractContextManager[Connection]:
        """Begin a transaction. It is committed at the end of the block or rolled back on an error.

        With ``new``, the transaction may add rows. No other transaction adds rows at the same
        time, and the commit survives a power failure.
        """

    def now(self, connection: Connection) -> float:
        """Return the Unix time of the clock that all users of this database share."""

    def close(self) -> None:
        """Close the database. A write in progress is completed. Closing twice is no error."""


_definition = definitions.c
_NOT_REMOVED = _definition.document.is_not(None)


def add_definition(
    connection: Connection, kind: str, name: str, document: Mapping[str, Any], created: float
) -> Definition:
    """Add a definition. The caller's transaction protects the version number."""
    for newest in list_definitions(connection, kind, name)[:1]:
        if newest.document == document:
            return newest
    this = (_definition.kind == kind) & (_definition.name == name)
    last = connection.scalar(select(func.max(_definition.version)).where(this))
    new = Definition(kind, name, (last or 0) + 1, created, document)
    text = json.dumps(document, separators=(",", ":"))
    connection.execute(
        definitions.insert().values(
            kind=kind, name=name, version=new.version, created=created, document=text
        )
    )
    return new


def get_definition(connection: Connection, kind: str, name: str, version: int | None) -> Definition:
    """Return a definition, or raise NotFound."""
    found = list_definitions(connection, kind, name)
    for definition in found:
        if version in (None, definition.version):
            return definition
    names = connection.scalars(
        select(_definition.name).where(_definition.kind == kind, _NOT_REMOVED).distinct()
    )
    raise no_definition(kind, name, version, [d.version for d in found], names)


def list_definitions(connection: Connection, kind: str, name: str) -> Sequence[Definition]:
    wanted = select(definitions).where(_definition.kind == kind, _NOT_REMOVED)
    if name:
        wanted = wanted.where(_definition.name == name).order_by(_definition.version.desc())
    else:
        newest = select(_definition.name, func.max(_definition.version).label("version"))
        newest_of = (
            newest.where(_definition.kind == kind, _NOT_REMOVED)
            .group_by(_definition.name)
            .subquery()
        )
        same = (_definition.name == newest_of.c.name) & (_definition.version == newest_of.c.version)
        wanted = wanted.join(newest_of, same).order_by(_definition.name)
    return tuple(
        Definition(row.kind, row.name, row.version, row.created, json.loads(row.document))
        for row in connection.execute(wanted)
    )


def remove_definition(connection: Connection, kind: str, name: str, version: int | None) -> None:
    """Remove one version of a definition or all; raise NotFound if there is none."""
    get_definition(connection, kind, name, version)
    this = (_definition.kind == kind) & (_definition.name == name)
    if version is not None:
        this &= _definition.version == version
    connection.execute(definitions.update().where(this).values(document=None))


_server = servers.c


Clock = Callable[[], float]


def take_lease(
    connection: Connection, clock: Clock, server: str, seconds: float, about: Mapping[str, str]
) -> Lease:
    """Add or replace a lease. The caller's transaction protects the fencing token."""
    last = connection.scalar(select(_server.fence).where(_server.name == server).with_for_update())
    values = {"fence": (last or 0) + 1, "until": clock() + seconds, **about}
    if last is None:
        connection.execute(servers.insert().values(name=server, **values))
    else:
        connection.execute(servers.update().where(_server.name == server).values(**values))
    return Lease(server, (last or 0) + 1)


def renew_lease(connection: Connection, clock: Clock, lease: Lease, seconds: float) -> bool:
    connection.execute(select(_server.fence).where(_server.name == lease.server).with_for_update())
    now = clock()
    held = (_server.name == lease.server) & (_server.fence == lease.fence) & (_server.until > now)
    longer = servers.update().where(held).values(until=now + seconds)
    return bool(connection.execute(longer).rowcount)


def list_servers(connection: Connection, now: float) -> Sequence[Server]:
    rows = connection.execute(select(servers).order_by(_server.name))
    return tuple(Server(r.name, r.fence, r.until - now, r.host, r.executor, r.url) for r in rows)


def holds_lease(connection: Connection, clock: Clock, right: WriteGuard) -> bool:
    """Return True if a write guard holds.

    The leases it depends on stay locked until the transaction ends.
    """
    names = [right.lease.server, *filter(None, [right.over])]
    wanted = select(servers).where(_server.name.in_(names)).order_by(_server.name)
    found = {row.name: row for row in connection.execute(wanted.with_for_update(read=True))}
    now = clock()  # read after the wait for the row locks
    mine, other = found.get(right.lease.server), found.get(right.over)
    if mine is None or mine.fence != right.lease.fence or mine.until <= now:
        return False
    return other is None or other.until + right.since <= now


def agree_on_value(connection: Connection, name: str, value: str) -> str:
    """Return the agreed value. The caller's transaction keeps others from adding one."""
    this = agreements.c.name == name
    known = connection.scalar(select(agreements.c.value).where(this))
    if known is None:
        connection.execute(agreements.insert().values(name=name, value=value))
    return value if known is None else known


TIMEOUT = 5.0  # seconds
_NEAR = 1000  # newest names that are searched for a similar one
_AT_ONCE = 500  # SQLite < 3.32 allows 999 values in a statement


def open_records(
    place: Path | str, *, timeout: float = TIMEOUT, schema: Schema | None = None
) -> "SqlRecords":
    """Open the SQLite file at a path, or the PostgreSQL database of a URL.

    A missing file is created, an older database is upgraded. A copy of an older file is kept next
    to it as ``<name>.<revision>.backup``.

    Raises:
        Refused: the database was written by a newer version, or by another program.
        Unavailable: the database does not answer.
    """
    wanted = schema or Schema()
    if isinstance(place, str):
        from danlu.records.postgres import open_postgres

        return SqlRecords(open_postgres(place, timeout, wanted))
    prepare(place, timeout, wanted)
    return SqlRecords(SqliteDatabase(place, timeout))


class SqlRecords:
    """Records in an SQL database. See :class:`danlu.records.api.Records`."""

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
        # The job was removed between two statements. Repeat, which raises NotFound.
        return self.get(reference) if document is None else _job(document)

    def save(self, job: Job, right: WriteGuard | None = None) -> Job | None:
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
            # Called every second, and nearly none of thousands of queued jobs has changed.
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
            return add_definition(connection, kind, name, document, created)

    def definition(self, kind: str, name: str, version: int | None = None) -> Definition:
        with self._database.reading() as connection:
            return get_definition(connection, kind, _storable(name), version)

    def definitions(self, kind: str, name: str = "") -> Sequence[Definition]:
        with self._database.reading() as connection:
            return list_definitions(connection, kind, _storable(name))

    def undefine(self, kind: str, name: str, version: int | None = None) -> None:
        with self._database.writing() as connection:
            remove_definition(connection, kind, _storable(name), version)

    def take(
        self, server: str, seconds: float, *, host: str = "", executor: str = "", url: str = ""
    ) -> Lease:
        with self._database.writing(new=True) as connection:
            about = {"host": host, "executor": executor, "url": url}
            return take_lease(connection, self._clock(connection), server, seconds, about)

    def renew(self, lease: Lease, seconds: float) -> bool:
        with self._database.writing() as connection:
            return renew_lease(connection, self._clock(connection), lease, seconds)

    def servers(self) -> Sequence[Server]:
        with self._database.reading() as connection:
            return list_servers(connection, self._database.now(connection))

    def agree(self, name: str, value: str) -> str:
        with self._database.writing(new=True) as connection:
            return agree_on_value(connection, name, value)

    def close(self) -> None:
        self._database.close()

    def _holds(self, connection: Connection, right: WriteGuard) -> bool:
        return holds_lease(connection, self._clock(connection), right)

    def _clock(self, connection: Connection) -> Clock:
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
    """Replace characters that no record contains.

    No database accepts lone surrogates, and PostgreSQL accepts no NUL.
    """
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
    """Return the columns that a later write may change. Name and creation time never change."""
    return {
        "state": job.state.value,
        "priority": job.spec.priority,
        "version": job.version,
        "document": json.dumps(to_wire(job), separators=(",", ":")),
    }


def _job(document: str) -> Job:
    return from_wire(Job, json.loads(document))


def _id_taken(job_id: str) -> Conflict:
    return Conflict.from_key("job.id_taken", job_id=job_id)
