"""The tables, and which revision of them this program reads.

A file that is current is opened without Alembic: its revision is read with plain SQL.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from danlu.errors import Refused, Unavailable

metadata = MetaData()
jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("created", Float, nullable=False),
    Column("version", Integer, nullable=False),
    Column("token", Text, unique=True),
    Column("document", Text, nullable=False),  # the whole job, as danlu.job.wire tells it
    # A list is chosen inside these; documents are read for the rows of one page only.
    Index("jobs_by_state", "state", "id", "name"),
    Index("jobs_by_id", "id", "name"),
)
definitions = Table(
    "definitions",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("created", Float, nullable=False),
    Column("document", Text),  # null: removed, so that its number is not given again
)


@dataclass(frozen=True)
class Schema:
    """A row of migrations and the last of them. Revisions are numbers of four digits."""

    migrations: str = "danlu.records:migrations"
    head: str = "0002"


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
            from danlu.records.upgrade import upgrade

            upgrade(path, patience, schema)


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
        raise Refused(
            f"{path} is a database of another program: it holds {', '.join(sorted(tables))}.",
            hint="Move it away, or set DANLU_HOME to another directory.",
        )
    (found,) = connection.execute("SELECT max(version_num) FROM alembic_version").fetchone()
    if not str(found).isdigit() or int(found) > int(schema.head):
        raise Refused(
            f"{path} was written by a newer Danlu: its schema is {found!r}, "
            f"this one reads up to {schema.head!r}.",
            hint="Install that version again, or set DANLU_HOME to another directory.",
        )
    return str(found)


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
