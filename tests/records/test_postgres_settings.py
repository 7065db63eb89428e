"""Databases that are set otherwise than most, and connections that break."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import psycopg
import pytest

from contracts.records import a_job
from danlu.errors import Refused, Unavailable
from danlu.records.postgres import hint_of
from danlu.records.sql import open_records


def test_a_password_may_have_any_character(postgres, database):
    password = "p@ss:w/rd?#%&= +'\"\\$中文é"
    quoted = password.replace("'", "''")
    postgres.execute("DROP ROLE IF EXISTS odd")
    postgres.execute(f"CREATE ROLE odd LOGIN SUPERUSER PASSWORD '{quoted}'")
    place = database.rpartition("@")[2]

    open_records(f"postgresql://odd:{quote(password, safe='')}@{place}").close()

    postgres.execute(
        "REASSIGN OWNED BY odd TO postgres; DROP ROLE odd", database.rpartition("/")[2]
    )


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_CN"])
def test_database_that_cannot_hold_every_name_is_refused(postgres, encoding):
    name = f"odd_{encoding.lower()}"
    postgres.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")

    with pytest.raises(Refused, match=f"has the encoding {encoding}, Danlu needs UTF8") as caught:
        open_records(postgres.url(name))

    assert "createdb --encoding UTF8" in caught.value.hint
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_what_the_client_calls_text_does_not_matter(database, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")

    records = open_records(database)
    assert records.get(records.add(a_job("训练")).id).name == "训练"
    records.close()


def test_a_schema_that_is_not_there_is_reported(database):
    with pytest.raises(Refused, match="no schema has been selected") as caught:
        open_records(database + "?options=-csearch_path%3Dnowhere")

    assert "CREATE SCHEMA" in caught.value.hint


def test_tables_may_are_in_schema_of_their_own(postgres, database):
    name = database.rpartition("/")[2]
    postgres.execute("CREATE SCHEMA ours", name)
    postgres.execute("CREATE TABLE public.jobs (of_somebody_else int)", name)
    url = database + "?options=-csearch_path%3Dours,public"

    for _ in range(2):
        open_records(url).close()

    tables = "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'alembic_version'"
    assert postgres.execute(tables, name) == [("ours",)]


def test_database_that_can_only_be_read_is_reported(postgres, database):
    name = database.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    with pytest.raises(Refused, match="read-only transaction") as caught:
        open_records(database)

    assert "target_session_attrs" in caught.value.hint


def test_full_disk_of_database_is_reported_with_hint():
    cause = 'could not extend file "base/16384/16390": No space left on device'

    assert "Free space" in hint_of(cause)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_stricter_isolation_default_of_database_is_accepted(postgres, database, level):
    """A writer that waited for another write must see it and continue, without an error."""
    name = database.rpartition("/")[2]
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{level}'")
    servers = [open_records(database), open_records(database)]

    def defines(number):
        return servers[number % 2].define("algorithm", "one", {"n": number}, 1.0).version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(defines, range(60)))

    assert sorted(versions) == list(range(1, 61))
    for server in servers:
        server.close()


def test_killed_connections_lose_and_repeat_nothing(postgres, database):
    """What was answered is there once, and what was not can be asked again."""
    name = database.rpartition("/")[2]
    records, ended = open_records(database), threading.Event()
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE datname = '{name}' AND pid <> pg_backend_pid()"
    )

    def kills():
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            while not ended.wait(0.03):
                connection.execute(kill.encode())

    def until_answered(ask):
        while True:
            with contextlib.suppress(Unavailable):
                return ask()

    with ThreadPoolExecutor(1) as pool:
        killer = pool.submit(kills)
        try:
            jobs = [
                until_answered(lambda n=n: records.add(a_job(f"job-{n}"), token=f"token-{n}"))
                for n in range(8)
            ]
            for job in jobs:
                assert until_answered(lambda job=job: records.get(job.id)).name == job.name
                until_answered(lambda: records.take("one", 60))
                until_answered(lambda job=job: records.define("algorithm", job.name, {}, 1.0))
        finally:
            ended.set()
        killer.result()

    assert sorted(job.id for job in records.living()) == sorted(job.id for job in jobs)
    assert len(records.definitions("algorithm")) == 8
    records.close()
