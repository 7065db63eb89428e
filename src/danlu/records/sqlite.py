"""Records in one SQLite file: the default, for one server.

Readers never wait for the writer (write-ahead log). Writers wait at most ``timeout`` seconds for
each other and for other processes. A file with the current schema is opened without Alembic: its
revision is read with plain SQL.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, QueuePool, create_engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from danlu.errors import Unavailable
from danlu.messages import get_message
from danlu.records.schema import Schema, check_age, foreign


class SqliteDatabase:
    """A SQLite database. See :class:`danlu.records.sql.Database`.

    :func:`prepare` must have been called for ``path``.
    """

    def __init__(self, path: Path, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._writer = threading.Lock()
        self._closed = False
        self.engine = create_engine(
            "sqlite://",
            creator=lambda: connect(path, timeout),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=60,
            pool_timeout=timeout,
        )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        if self._closed:
            raise Unavailable.from_key("records.closed", place=self._path)
        with answering(self._path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, new: bool = False) -> Iterator[Connection]:
        if not self._writer.acquire(timeout=self._timeout):
            raise Unavailable.from_key("records.busy", place=self._path)
        try:
            with self.reading() as connection:
                synchronous = "FULL" if new else "NORMAL"
                connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
                connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
        finally:
            self._writer.release()

    def now(self, connection: Connection) -> float:
        return time.time()

    def close(self) -> None:
        with self._writer:
            self._closed = True
            self.engine.dispose()


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that begins transactions only explicitly."""
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)


def prepare(path: Path, timeout: float, schema: Schema) -> None:
    """Create the file if it is missing, or upgrade an older one to ``schema``.

    Raises:
        Refused: a newer version or another program wrote the file.
        Unavailable: the database does not answer.
    """
    with answering(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would make it readable for all users. Its -wal and -shm files get the same mode.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(connect(path, timeout)) as connection:
            found = revision(connection, path, schema)
        if found != schema.head:
            from danlu.records.upgrade import upgrade_file

            upgrade_file(path, timeout, schema)


def revision(connection: sqlite3.Connection, path: Path, schema: Schema) -> str:
    """Return the revision of a file, at most ``schema.head``, or "" for a new file.

    Raises:
        Refused: the revision is newer, or the file belongs to another program.
    """
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in listed}
    if not tables:
        return ""
    if "alembic_version" not in tables:
        raise foreign(str(path), tables, get_message("records.sqlite_foreign"))
    (found,) = connection.execute("SELECT max(version_num) FROM alembic_version").fetchone()
    return check_age(str(path), found, schema, get_message("records.sqlite_newer"))


@contextmanager
def answering(path: Path) -> Iterator[None]:
    """Raise every error with an external cause as Unavailable."""
    try:
        yield
    except (OSError, sqlite3.Error, DatabaseError, PoolTimeout) as error:
        cause = error.orig if isinstance(error, DatabaseError) else error
        if not isinstance(error, PoolTimeout) and not _is_from_outside(cause):
            raise
        raise Unavailable.from_key(
            "records.no_answer", place=path, cause=cause, hint=_hint(cause)
        ) from error


def _is_from_outside(cause: BaseException | None) -> bool:
    """Return True if the error has an external cause.

    A lock, a full disk or a damaged file is external. Constraint violations and misuse are bugs in
    Danlu.
    """
    return (
        isinstance(cause, OSError | sqlite3.OperationalError)
        or type(cause) is sqlite3.DatabaseError
    )


def _hint(cause: BaseException | None) -> str:
    text = str(cause)
    if "locked" in text:
        return get_message("records.locked")
    if "full" in text or "disk I/O" in text:
        return get_message("records.disk_full")
    if "not a database" in text or "malformed" in text:
        return get_message("records.damaged")
    return get_message("records.no_access")
