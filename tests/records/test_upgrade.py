"""Schemas older and newer than ours. Older ones are made by adding a revision to a copy of ours."""

import logging
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import danlu.records
from contracts.records import a_job
from danlu.errors import Refused, Unavailable
from danlu.records.schema import Schema, metadata
from danlu.records.sql import open_records

HEAD = Schema().head
AFTER = f"{int(HEAD) + 1:04d}"
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "{after}"
down_revision = "{head}"


def upgrade():
    op.add_column("jobs", sa.Column("owner", sa.Text))
    {fault}
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "danlu.db"


def following(folder, fault=""):
    """Return our schema with one more revision."""
    shutil.copytree(Path(danlu.records.__file__).parent / "migrations", folder)
    text = NEXT.format(fault=fault, head=HEAD, after=AFTER)
    (folder / "versions" / f"{AFTER}_owner.py").write_text(text)
    return Schema(str(folder), AFTER)


def filled(path):
    records = open_records(path)
    job = records.add(a_job("mnist"))
    records.close()
    return job


def migrated(path):
    """Make a file by every migration there is; a new one is made without them."""
    folder = Path(danlu.records.__file__).parent / "migrations"
    open_records(path, schema=Schema(str(folder))).close()


def made_of(path):
    """Return every table with its columns, and every index with what it is over."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT type, name, tbl_name FROM sqlite_master").fetchall()
        return {
            (kind, name, table, *connection.execute(f"PRAGMA {kind}_info('{name}')").fetchall())
            for kind, name, table in names
        } | {
            (name, *row[1:])
            for kind, name, _ in names
            if kind == "table"
            for row in connection.execute(f"PRAGMA index_list('{name}')")
        }


def revision_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]


def columns_of(path):
    with closing(sqlite3.connect(path)) as connection:
        return [row[1] for row in connection.execute("PRAGMA table_info(jobs)")]


def test_tables_of_program_are_those_of_migrations(path):
    migrated(path)

    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()

    assert differences == []


def test_a_new_database_is_what_the_migrations_make(path, tmp_path):
    open_records(path).close()
    migrated(tmp_path / "migrated.db")

    assert made_of(path) == made_of(tmp_path / "migrated.db")
    assert revision_of(path) == revision_of(tmp_path / "migrated.db")


def test_a_new_database_is_made_without_alembic(path):
    script = (
        "import sys; from pathlib import Path; from danlu.records.sql import open_records;"
        "open_records(Path(sys.argv[1])).close(); sys.exit('alembic' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=60)


def test_the_head_we_name_is_the_last_migration():
    config = Config()
    config.set_main_option("script_location", Schema().migrations)

    assert ScriptDirectory.from_config(config).get_current_head() == Schema().head


def test_an_older_database_is_copied_and_upgraded(path, tmp_path):
    job = filled(path)

    records = open_records(path, schema=following(tmp_path / "next"))
    found = records.get("mnist")
    records.close()

    assert found == job
    assert revision_of(path) == AFTER
    assert "owner" in columns_of(path)
    copy = tmp_path / f"danlu.db.{HEAD}.backup"
    assert revision_of(copy) == HEAD
    assert copy.stat().st_mode & 0o777 == 0o600
    again = open_records(copy)
    assert again.get("mnist") == job
    again.close()


def test_a_database_of_jobs_alone_takes_definitions(path, tmp_path):
    """What the first revision left keeps its jobs and gets the second table."""
    old = open_records(path, schema=Schema(head="0001"))
    job = old.add(a_job("mnist"))
    old.close()

    records = open_records(path)
    defined = records.define("dataset", "mnist", {"uri": "obs://bucket/mnist"}, 1.0)

    assert records.get("mnist") == job
    assert records.definitions("dataset") == (defined,)
    records.close()
    assert revision_of(tmp_path / "danlu.db.0001.backup") == "0001"


def test_a_new_database_needs_no_copy(path):
    filled(path)

    assert [file.name for file in path.parent.iterdir()] == ["danlu.db"]


def test_copy_holds_what_is_still_in_log(path, tmp_path):
    """A server that was killed leaves its last writes in the write-ahead log."""
    script = (
        "import os, sys; from pathlib import Path; from danlu.records.sql import open_records;"
        "from contracts.records import a_job;"
        "records = open_records(Path(sys.argv[1])); records.add(a_job('mnist')); os._exit(0)"
    )
    folder = Path(__file__).parents[1]  # python -c imports from where it is started
    subprocess.run([sys.executable, "-c", script, path], check=True, timeout=60, cwd=folder)
    assert (tmp_path / "danlu.db-wal").stat().st_size > 0

    open_records(path, schema=following(tmp_path / "next")).close()

    again = open_records(tmp_path / f"danlu.db.{HEAD}.backup")
    assert [job.name for job in again.page()] == ["mnist"]
    again.close()


def test_migration_that_fails_leaves_database_as_it_was(path, tmp_path):
    job = filled(path)
    broken = following(tmp_path / "next", fault="raise ZeroDivisionError")

    with pytest.raises(ZeroDivisionError):
        open_records(path, schema=broken)

    assert revision_of(path) == HEAD
    assert "owner" not in columns_of(path)
    records = open_records(path)
    assert records.get("mnist") == job
    records.close()


@pytest.mark.parametrize("found", [AFTER, "9999", "4f2a9c"])
def test_a_newer_database_is_refused_and_left_alone(path, found):
    filled(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", [found])
    before = path.read_bytes()

    with pytest.raises(Refused, match="was written by a newer Danlu") as caught:
        open_records(path)

    assert found in caught.value.message
    assert "DANLU_HOME" in caught.value.hint
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["danlu.db"]


def test_the_database_of_another_program_is_refused(path):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE cookies (name)")

    with pytest.raises(Refused, match="of another program: it holds cookies"):
        open_records(path)


def test_an_empty_file_is_a_new_database(path):
    path.touch()

    assert filled(path).name == "mnist"


def test_upgrade_waits_for_the_database_lock(path, tmp_path):
    filled(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="locked"):
            open_records(path, timeout=0.1, schema=following(tmp_path / "next"))

    assert revision_of(path) == HEAD


def test_an_upgrade_leaves_logging_alone(path, capfd):
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("alembic").level)

    filled(path)

    assert (root.level, list(root.handlers), logging.getLogger("alembic").level) == before
    assert capfd.readouterr() == ("", "")


def test_a_current_database_is_opened_without_alembic(path):
    filled(path)
    script = (
        "import sys; from pathlib import Path; from danlu.records.sql import open_records;"
        "open_records(Path(sys.argv[1])).close(); sys.exit('alembic' in sys.modules)"
    )

    ran = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60)

    assert ran.returncode == 0
