"""A PostgreSQL database: for several servers, on one machine or on many.

The URL goes to libpq as it is: whatever it understands works (TLS, several hosts, a service
file). Every write waits for the disk: what one server was told the others must find, also after
the database has crashed.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from danlu.errors import Refused, Unavailable
from danlu.records.postgres_faults import cause_of, hint_of, is_from_outside, place_of, refusing
from danlu.records.schema import Schema, check_age, foreign

if TYPE_CHECKING:
    import psycopg

OLDEST = 13  # of the server
_ADDING = 0x44414E4C55_01  # an advisory lock: 'DANLU', first
_UPGRADING = 0x44414E4C55_02
_POOL, _MORE = 4, 16  # connections of one server
_CURE = "make a database of its own for Danlu."


def open_postgres(url: str, patience: float, schema: Schema) -> "PostgresDatabase":
    """Connect, make the tables where there are none, and bring older ones to ``schema``.

    Of several servers that come at once, one does it and the others wait.

    Raises:
        Refused: the URL, the server or the database is not one that can be used.
        Unavailable: it does not answer.
    """
    database = PostgresDatabase(url, patience)
    try:
        with refusing(database.place), database.reading() as connection:
            _check_version(connection, database.place)
            _check_encoding(connection, database.place)
            found = revision(connection, database.place, schema)
        if found != schema.head:
            from danlu.records.upgrade import upgrade_shared

            with refusing(database.place):
                upgrade_shared(database, schema)
    except BaseException:
        database.close()
        raise
    return database


class PostgresDatabase:
    """See :class:`danlu.records.database.Database`. ``place`` names it, without a password."""

    def __init__(self, url: str, patience: float) -> None:
        self.place, parameters = place_of(url), _parameters(url, patience)
        self._patience = patience
        self._closed = False
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(parameters),
            poolclass=QueuePool,
            pool_size=_POOL,
            max_overflow=_MORE,
            pool_timeout=patience,
            pool_pre_ping=True,  # a connection of before a restart is noticed, and replaced
        )
        self._looking = self._engine.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self._answering(), self._looking.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, new: bool = False) -> Iterator[Connection]:
        with self._answering(), self._engine.begin() as connection:
            if new:
                lock(connection, _ADDING)
            yield connection

    @contextmanager
    def upgrading(self) -> Iterator[Connection]:
        """One transaction that no other server upgrades in."""
        with self._answering(), self._engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            lock(connection, _UPGRADING)
            yield connection

    def now(self, connection: Connection) -> float:
        told = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(told.scalar_one())

    def close(self) -> None:
        self._closed = True
        self._engine.dispose()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        if self._closed:
            raise Unavailable(f"The database {self.place} has been closed.")
        try:
            yield
        except PoolTimeout as error:
            raise Unavailable(f"The database {self.place} is busy.", hint="Try again.") from error
        except DBAPIError as error:
            if not is_from_outside(error):
                raise
            cause = cause_of(error)
            raise Unavailable(
                f"The database {self.place} does not answer: {cause}.", hint=hint_of(cause)
            ) from None  # the driver's own words may quote the URL

    def _connect(self, parameters: dict[str, Any]) -> "psycopg.Connection[Any]":
        import psycopg

        connection = psycopg.connect(**parameters)
        milliseconds = math.ceil(self._patience * 1000)
        try:
            # A server that is paused in the middle of a write must not keep the others from theirs.
            for name, value in (
                # Who waits for a lock must see what was written meanwhile, whatever the default is.
                ("default_transaction_isolation", "'read committed'"),
                ("lock_timeout", milliseconds),
                ("statement_timeout", 4 * milliseconds),
                ("idle_in_transaction_session_timeout", 2 * milliseconds),
            ):
                connection.execute(f"SET {name} = {value}".encode())
            connection.commit()
        except BaseException:
            connection.close()
            raise
        return connection


def lock(connection: Connection, key: int) -> None:
    """Wait for a lock that ends with the transaction."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({key})")


def revision(connection: Connection, place: str, schema: Schema) -> str:
    """Return the revision the tables are at; empty where there are none.

    Raises:
        Refused: it is newer, or of another program.
    """
    listed = connection.exec_driver_sql(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    tables = set(listed.scalars())
    if not tables:
        return ""
    if not {"alembic_version", "jobs"} <= tables:
        raise foreign(place, tables, _CURE.capitalize())
    found = connection.exec_driver_sql("SELECT max(version_num) FROM alembic_version").scalar()
    return check_age(place, found, schema, _CURE)


def _check_version(connection: Connection, place: str) -> None:
    number = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
    if number // 10_000 < OLDEST:
        raise Refused(
            f"{place} is PostgreSQL {number // 10_000}, Danlu needs {OLDEST} or newer.",
            hint="Upgrade the server, or name another one in records_url.",
        )


def _check_encoding(connection: Connection, place: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise Refused(
            f"{place} holds text in {encoding}, Danlu needs UTF8.",
            hint="Make another database: createdb --encoding UTF8 --template template0 DATABASE",
        )


def _parameters(url: str, patience: float) -> dict[str, Any]:
    """Return what libpq is told: the URL's own words, and ours where it says nothing.

    Raises:
        Refused: there is no driver, or libpq does not understand the URL.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise Refused(
            f"records_url names PostgreSQL, and its driver cannot be loaded: {error}.",
            hint="Install it with: pip install 'danlu[postgres]'",
        ) from None
    # After a second @, or a /, libpq would look for a host or a port named by a part of the
    # password, and say so.
    place = url.partition("://")[2].partition("?")[0]
    if place.count("@") > 1 or "@" in place.partition("/")[2]:
        raise _not_understood(url)
    try:
        asked = conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError):
        raise _not_understood(url) from None
    return {
        "application_name": "danlu",
        "connect_timeout": max(2, math.ceil(patience)),
        # A machine that is gone is noticed in seconds, not in hours.
        "tcp_user_timeout": math.ceil(patience * 2000),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        **asked,
        "client_encoding": "UTF8",  # also where PGCLIENTENCODING says otherwise
    }


def _not_understood(url: str) -> Refused:
    return Refused(
        f"records_url is not a URL PostgreSQL understands: {place_of(url)}.",
        hint="Write postgresql://user:password@host:5432/database, "
        "with %40 for @, %2F for / and %25 for % in the password.",
    )
