"""Records in a PostgreSQL database, for several servers on one machine or on many.

The URL is passed to libpq unchanged, so everything libpq supports works (TLS, several hosts, a
service file). Every write waits for the disk: all servers must find what one server has written,
even after a crash of the database.
"""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from danlu.errors import Refused, Unavailable
from danlu.messages import get_message
from danlu.records.schema import Schema, check_age, foreign
from danlu.settings import hidden_url

if TYPE_CHECKING:
    import psycopg


# SQLSTATE classes: connection, standby, schema, permissions, resources, operator intervention.
_CLASSES = ("08", "25006", "3F", "42501", "53", "57", "58")
_CURES = (  # parts of the driver's message, and keys of hints
    ("authentication failed", "records.password"),
    (
        "no password supplied",
        "records.no_password",
    ),
    ("does not exist", "records.createdb"),
    ("no pg_hba.conf entry", "records.pg_hba"),
    (
        "read-only transaction",
        "records.read_only",
    ),
    ("no schema has been selected", "records.no_schema"),
    ("No space left", "records.no_space"),
    ("permission denied", "records.no_permission"),
)


def place_of(url: str) -> str:
    """Return the URL of a database for messages, without the password and the options."""
    return hidden_url(url).partition("?")[0]


def cause_of(error: DBAPIError) -> str:
    """Return the first line of the driver's error message, without prefixes."""
    text = str(error.orig).strip().splitlines()
    first = text[0] if text else type(error.orig).__name__
    first = re.sub(r"^connection failed: ", "", first)
    return re.sub(r"\b(FATAL|ERROR):\s+", "", first).rstrip(".")


def is_from_outside(error: DBAPIError) -> bool:
    """Return True if the error has an external cause.

    A lost connection or a full disk is external. Constraint violations and misuse are bugs in
    Danlu.
    """
    if error.connection_invalidated or isinstance(error, OperationalError | InterfaceError):
        return True
    state = getattr(error.orig, "sqlstate", None) or ""
    return state.startswith(_CLASSES)


def hint_of(cause: str) -> str:
    for sign, cure in _CURES:
        if sign in cause:
            return get_message(cure)
    return get_message("records.unreachable")


class DatabaseUnavailable(Unavailable):
    """The database does not answer. ``cause`` is the driver's message."""

    def __init__(self, place: str, cause: str) -> None:
        super().__init__(
            get_message("records.no_answer", place=place, cause=cause), hint=hint_of(cause)
        )
        self.cause = cause


@contextmanager
def refusing(place: str) -> Iterator[None]:
    """Raise Refused instead of Unavailable for errors that waiting does not fix."""
    try:
        yield
    except DatabaseUnavailable as error:
        cause = error.cause
        if not any(sign in cause for sign, _ in _CURES):
            raise
        raise Refused.from_key(
            "records.cannot_use", place=place, cause=cause, hint=error.hint
        ) from None


OLDEST = 13  # of the server
_ADDING = 0x44414E4C55_01  # advisory lock keys: the letters 'DANLU' and a number
_UPGRADING = 0x44414E4C55_02
_POOL, _MORE = 4, 16  # connections of one server


def open_postgres(url: str, timeout: float, schema: Schema) -> "PostgresDatabase":
    """Connect, create missing tables, and upgrade older ones to ``schema``.

    If several servers start at once, one of them upgrades and the others wait.

    Raises:
        Refused: the URL, the server or the database cannot be used.
        Unavailable: the database does not answer.
    """
    database = PostgresDatabase(url, timeout)
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
    """A PostgreSQL database. See :class:`danlu.records.sql.Database`.

    ``place`` is its URL without the password.
    """

    def __init__(self, url: str, timeout: float) -> None:
        self.place, parameters = place_of(url), _parameters(url, timeout)
        self._timeout = timeout
        self._closed = False
        self._engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(parameters),
            poolclass=QueuePool,
            pool_size=_POOL,
            max_overflow=_MORE,
            pool_timeout=timeout,
            pool_pre_ping=True,  # replaces connections that broke in a restart of the database
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
        """Begin a transaction under a lock that keeps other servers from upgrading."""
        with self._answering(), self._engine.begin() as connection:
            connection.exec_driver_sql("SET LOCAL lock_timeout = '60s'")
            connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
            lock(connection, _UPGRADING)
            yield connection

    def now(self, connection: Connection) -> float:
        row = connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())")
        return float(row.scalar_one())

    def close(self) -> None:
        self._closed = True
        self._engine.dispose()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        if self._closed:
            raise Unavailable.from_key("records.closed", place=self.place)
        try:
            yield
        except PoolTimeout as error:
            raise Unavailable.from_key("records.busy", place=self.place) from error
        except DBAPIError as error:
            if not is_from_outside(error):
                raise
            cause = cause_of(error)
            # Not chained: the driver's message may contain the URL.
            raise DatabaseUnavailable(self.place, cause) from None

    def _connect(self, parameters: dict[str, Any]) -> "psycopg.Connection[Any]":
        import psycopg

        connection = psycopg.connect(**parameters)
        milliseconds = math.ceil(self._timeout * 1000)
        try:
            # A server that is paused in the middle of a write must not block the writes of others.
            for name, value in (
                # After a wait for a lock, a statement must see what was written meanwhile.
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
    """Take an advisory lock that is released at the end of the transaction."""
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({key})")


def revision(connection: Connection, place: str, schema: Schema) -> str:
    """Return the revision of the tables, or "" if there are none.

    Raises:
        Refused: the revision is newer, or the tables belong to another program.
    """
    listed = connection.exec_driver_sql(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    tables = set(listed.scalars())
    if not tables:
        return ""
    if not {"alembic_version", "jobs"} <= tables:
        raise foreign(place, tables, get_message("records.postgres_foreign"))
    found = connection.exec_driver_sql("SELECT max(version_num) FROM alembic_version").scalar()
    return check_age(place, found, schema, get_message("records.postgres_newer"))


def _check_version(connection: Connection, place: str) -> None:
    number = int(connection.exec_driver_sql("SHOW server_version_num").scalar_one())
    if number // 10_000 < OLDEST:
        raise Refused.from_key(
            "records.old_postgres", place=place, number=number // 10_000, oldest=OLDEST
        )


def _check_encoding(connection: Connection, place: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != "UTF8":
        raise Refused.from_key("records.encoding", place=place, encoding=encoding)


def _parameters(url: str, timeout: float) -> dict[str, Any]:
    """Return the parameters for libpq: those of the URL, and our defaults for the others.

    Raises:
        Refused: the driver is not installed, or libpq does not understand the URL.
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise Refused.from_key("records.no_driver", error=error) from None
    # With a second @, or an @ after a /, libpq would take a part of the password for a host or a
    # port, and print it.
    place = url.partition("://")[2].partition("?")[0]
    if place.count("@") > 1 or "@" in place.partition("/")[2]:
        raise _not_understood(url)
    try:
        asked = conninfo_to_dict(url)
    except (psycopg.Error, UnicodeError):
        raise _not_understood(url) from None
    return {
        "application_name": "danlu",
        "connect_timeout": max(2, math.ceil(timeout)),
        # A machine that is down is detected in seconds, not in hours.
        "tcp_user_timeout": math.ceil(timeout * 2000),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        **asked,
        "client_encoding": "UTF8",  # overrides PGCLIENTENCODING
    }


def _not_understood(url: str) -> Refused:
    return Refused.from_key("records.bad_url", url=place_of(url))
