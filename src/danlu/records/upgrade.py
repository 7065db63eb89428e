"""Creates a database with the current schema, or backs it up and migrates it."""

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import (
    Connection,
    NullPool,
    create_engine,
)

from danlu.errors import Refused
from danlu.records import postgres, sqlite
from danlu.records.schema import Schema, metadata

log = logging.getLogger(__name__)

# The same table as Alembic creates.
_REVISION = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def upgrade_shared(database: postgres.PostgresDatabase, schema: Schema) -> None:
    """Upgrade a shared database to ``schema``. It stays unchanged if interrupted."""
    with database.upgrading() as connection:
        # Read again under the lock: another server may have upgraded it meanwhile.
        found = postgres.revision(connection, database.place, schema)
        if found != schema.head:
            log.warning("upgrade database=%s from=%s to=%s", database.place, found, schema.head)
            _migrate(connection, schema)


def upgrade_file(path: Path, timeout: float, schema: Schema) -> None:
    """Upgrade a file to ``schema``. It stays unchanged if interrupted at any point."""
    engine = create_engine(
        "sqlite://", creator=lambda: sqlite.connect(path, timeout), poolclass=NullPool
    )
    with engine.connect() as connection:
        _keep_a_log(connection, path)
        connection.exec_driver_sql("PRAGMA synchronous = FULL")
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        # Read again under the lock: another process may have upgraded it meanwhile.
        found = sqlite.revision(_driver(connection), path, schema)
        if found == schema.head:
            return
        if not found and schema == Schema():
            _make(connection, schema)
        else:
            if found:
                copy = _back_up(path, found)
                log.warning("upgrade path=%s from=%s to=%s copy=%s", path, found, schema.head, copy)
            _migrate(connection, schema)
        connection.commit()


def _make(connection: Connection, schema: Schema) -> None:
    metadata.create_all(connection)
    connection.exec_driver_sql(_REVISION)
    connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (schema.head,))


def _keep_a_log(connection: Connection, path: Path) -> None:
    mode = connection.exec_driver_sql("PRAGMA journal_mode = WAL").scalar()
    if mode != "wal":
        raise Refused.from_key("records.no_wal", path=path, mode=mode)


def _back_up(path: Path, found: str) -> Path:
    """Copy the committed data. The caller's lock keeps other processes from writing."""
    copy = path.with_name(f"{path.name}.{found}.backup")
    unfinished = copy.with_name(f"{copy.name}.tmp")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_RDWR, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(unfinished)) as target:
        source.backup(target)
    os.replace(unfinished, copy)
    return copy


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.dbapi_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError(driver)
    return driver


def _migrate(connection: Connection, schema: Schema) -> None:
    from alembic import command
    from alembic.config import Config

    # Without a configuration file, Alembic changes no logging and prints nothing.
    config = Config()
    config.set_main_option("script_location", schema.migrations)
    config.attributes["connection"] = connection
    command.upgrade(config, schema.head)
