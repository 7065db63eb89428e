"""One SQLite file: the default, for one server.

Readers never wait for the writer (write-ahead log). Writers wait for each other, and for other
processes, as long as ``patience`` says. A file that is current is opened without Alembic: its
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
from danlu.records.schema import Schema, check_age, foreign

_ELSEWHERE = "set DANLU_HOME to another directory."


class SqliteDatabase:
    """See :class:`danlu.records.database.Database`. ``path`` has been prepared already."""

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._writer = threading.Lock()
        self._closed = False
        self.engine = create_engine(
            "sqlite://",
            creator=lambda: connect(path, patience),
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=60,
            pool_timeout=patience,
        )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        if self._closed:
            raise Unavailable(f"The database {self._path} has been closed.")
        with answering(self._path), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, new: bool = False) -> Iterator[Connection]:
        if not self._writer.acquire(timeout=self._patience):
            raise Unavailable(f"The database {self._path} is busy.", hint="Try again.")
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


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Return a connection that begins transactions only when told to."""
    return sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)


def prepare(path: Path, patience: float, schema: Schema) -> None:
    """Make the file if there is none, and bring an older one to ``schema``.

    Raises:
        Refused: the file is of a newer program, or no database of ours.
        Unavailable: it does not answer.
    """
    with answering(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # SQLite would let everybody read it. Its -wal and -shm files take the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(connect(path, patience)) as connection:
            found = revision(connection, path, schema)
        if found != schema.head:
            from danlu.records.upgrade import upgrade_file

            upgrade_file(path, patience, schema)


def revision(connection: sqlite3.Connection, path: Path, schema: Schema) -> str:
    """Return the revision a file is at, ``schema.head`` or one before; empty for a new file.

    Raises:
        Refused: it is newer, or of another program.
    """
    listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    tables = {name for (name,) in listed}
    if not tables:
        return ""
    if "alembic_version" not in tables:
        raise foreign(str(path), tables, f"Move it away, or {_ELSEWHERE}")
    (found,) = connection.execute("SELECT max(version_num) FROM alembic_version").fetchone()
    return check_age(str(path), found, schema, _ELSEWHERE)


@contextmanager
def answering(path: Path) -> Iterator[None]:
    """Tell every way in which a database does not answer as Unavailable."""
    try:
        yield
    except (OSError, sqlite3.Error, DatabaseError, PoolTimeout) as error:
        cause = error.orig if isinstance(error, DatabaseError) else error
        if not isinstance(error, PoolTimeout) and not _is_from_outside(cause):
            raise
        raise Unavailable(
            f"The database {path} does not answer: {cause}.", hint=_hint(cause)
        ) from error


def _is_from_outside(cause: BaseException | None) -> bool:
    """Constraints and misuse are faults of ours; a lock, a full disk or a broken file are not."""
    return (
        isinstance(cause, OSError | sqlite3.OperationalError)
        or type(cause) is sqlite3.DatabaseError
    )


def _hint(cause: BaseException | None) -> str:
    text = str(cause)
    if "locked" in text:
        return "Another program holds it. Try again."
    if "full" in text or "disk I/O" in text:
        return "Is the disk full? Free some space and try again."
    if "not a database" in text or "malformed" in text:
        return "The file is damaged. Move it away, or put a copy back in its place."
    return "May this user write to its directory?"
