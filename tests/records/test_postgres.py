"""Records in a real PostgreSQL server: the contract, and the errors when it does not answer."""

import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

import danlu.records.postgres
from contracts.records import a_job
from danlu.errors import Refused, Unavailable
from danlu.records.schema import Schema, metadata
from danlu.records.sql import open_records
from postgres import PASSWORD
from seaweed import _free_ports
from stored_records import StoredRecords


class TestPostgresRecords(StoredRecords):
    @pytest.fixture
    def place(self, database):
        return database


def all_messages(caught):
    """What a log would show of an error: itself and everything it came from."""
    return "".join(traceback.format_exception(caught.value)) + repr(caught.value.to_wire())


def test_a_wrong_password_is_reported_and_not_shown(postgres):
    wrong = "-".join(["wrong", "canary"])  # a traceback shows this line

    with pytest.raises(Refused, match="password authentication failed") as caught:
        open_records(postgres.url(password=wrong))

    assert "127.0.0.1" in caught.value.message
    assert "records_url" in caught.value.hint
    assert "wrong-canary" not in all_messages(caught)


def test_a_server_that_is_not_there_is_unavailable(postgres):
    (port,) = _free_ports(1)
    url = postgres.url().replace(str(postgres.port), str(port))

    with pytest.raises(Unavailable, match=r"does not answer: .*Connection refused") as caught:
        open_records(url)

    assert "\n" not in caught.value.message
    assert PASSWORD not in all_messages(caught)


def test_missing_database_is_reported_with_hint(postgres):
    with pytest.raises(Refused, match='database "nowhere" does not exist') as caught:
        open_records(postgres.url("nowhere"))

    assert "createdb" in caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://danlu:x@y@z:p@h/d",
        "postgresql://danlu:5432/word@h/d",
        "postgresql://danlu:y%CA@h/d",
        "postgresql://h/d?nonsense=1",
    ],
)
def test_a_url_that_cannot_be_read_is_refused(url):
    with pytest.raises(Refused, match="PostgreSQL cannot parse records_url") as caught:
        open_records(url)

    assert "y@z" not in all_messages(caught)
    assert "y%CA" not in all_messages(caught)
    assert "%40" in caught.value.hint


def test_an_old_server_is_refused(database, monkeypatch):
    monkeypatch.setattr(danlu.records.postgres, "OLDEST", 99)

    with pytest.raises(Refused, match=r"is PostgreSQL \d+, Danlu needs 99 or newer"):
        open_records(database)


def test_a_missing_driver_is_reported_with_a_hint(database, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(Refused, match="driver cannot be loaded") as caught:
        open_records(database)

    assert "pip install 'danlu[postgres]'" in caught.value.hint


def test_missing_permission_to_create_tables_is_reported(postgres, database):
    name = database.rpartition("/")[2]
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute(f"CREATE ROLE guest LOGIN PASSWORD '{PASSWORD}'")

    with pytest.raises(Refused, match="permission denied for schema public") as caught:
        open_records(postgres.url(name).replace("//postgres:", "//guest:"))

    assert "OWNER" in caught.value.hint
    postgres.execute("DROP ROLE guest")


def test_the_database_of_another_program_is_refused(postgres, database):
    postgres.execute("CREATE TABLE cookies (name text)", database.rpartition("/")[2])

    with pytest.raises(Refused, match="of another program: it holds cookies"):
        open_records(database)


def test_a_newer_database_is_refused(postgres, database):
    open_records(database).close()
    postgres.execute("UPDATE alembic_version SET version_num = '9999'", database.rpartition("/")[2])

    with pytest.raises(Refused, match="was written by a newer Danlu"):
        open_records(database)


@pytest.mark.smoke
def test_tables_of_program_are_those_of_migrations(database):
    records = open_records(database)

    with records._database.reading() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    records.close()

    assert differences == []


def test_what_the_first_revision_left_is_upgraded(database):
    old = open_records(database, schema=Schema(head="0001"))
    job = old.add(a_job("mnist"))
    old.close()

    records = open_records(database)

    assert records.get("mnist") == job
    assert records.define("dataset", "mnist", {"uri": "u"}, 1.0).version == 1
    records.close()


def test_lease_ended_during_renewal_is_not_renewed(database):
    """Another writer reads it meanwhile and has taken the server for gone."""
    waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    records = open_records(database)
    lease = records.take("a-server", 0.5)
    with (
        ThreadPoolExecutor(1) as pool,
        psycopg.connect(database) as other,
        psycopg.connect(database, autocommit=True) as looking,
    ):
        other.execute("SELECT * FROM servers FOR SHARE")
        renewed = pool.submit(records.renew, lease, 60.0)
        while not (looking.execute(waits).fetchone()[0] or renewed.done()):
            time.sleep(0.01)
        while records.servers()[0].living:
            time.sleep(0.01)
        other.commit()

        assert renewed.result() is False
    records.close()


FIRST = """
import logging, sys
from danlu.records.sql import open_records

logging.basicConfig(level=logging.WARNING, format="%(message)s")
print("ready", flush=True)
sys.stdin.readline()
open_records(sys.argv[1]).close()
"""


def test_one_of_several_first_servers_creates_tables(database):
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", FIRST, database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for starter in starters:
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        starter.stdin.write("\n")
        starter.stdin.flush()
    output = [starter.communicate(timeout=60)[1] for starter in starters]

    assert [starter.returncode for starter in starters] == [0, 0, 0], output
    assert "".join(output).count("upgrade database=") == 1
    assert PASSWORD not in "".join(output)


def test_a_current_database_is_opened_without_alembic(database):
    open_records(database).close()
    script = (
        "import sys; from danlu.records.sql import open_records;"
        "open_records(sys.argv[1]).close(); sys.exit('alembic' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", script, database], timeout=60).returncode == 0


def test_a_server_that_was_restarted_is_found_again(postgres, database):
    records = open_records(database)
    job = records.add(a_job("mnist"), "token")
    try:
        postgres.stop()
        for ask in (records.living, lambda: records.save(job), lambda: records.get("mnist")):
            with pytest.raises(Unavailable, match="does not answer") as caught:
                ask()
            assert PASSWORD not in all_messages(caught)
    finally:
        postgres.start()

    assert records.add(a_job("other"), "token") == job
    assert records.save(job) is not None
    records.close()


def test_paused_writer_does_not_block_others_long(database):
    patient, other = open_records(database), open_records(database, timeout=0.3)
    slow = open_records(database, timeout=0.3)

    def stand_still_while_others_add():
        with slow._database.writing(new=True) as connection:
            with pytest.raises(Unavailable, match="lock timeout"):
                other.add(a_job("mnist"))
            patient.add(a_job("mnist"))  # when the other's time is over
            connection.exec_driver_sql("SELECT 1")

    with pytest.raises(Unavailable, match="idle-in-transaction timeout"):
        stand_still_while_others_add()
    assert other.get("mnist").name == "mnist"
    for records in (patient, other, slow):
        records.close()


def test_closed_records_are_unavailable(database):
    records = open_records(database)
    records.close()
    records.close()

    with pytest.raises(Unavailable, match="has been closed"):
        records.page()
