import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event

from contracts.records import a_job
from danlu.errors import Unavailable
from danlu.job.state import JobState
from danlu.records.schema import jobs
from danlu.records.sql import _columns, _page, open_records
from stored_records import StoredRecords


@pytest.fixture
def path(tmp_path):
    return tmp_path / "it's a 100% 丹炉\nhome" / "danlu.db"


class TestSqlRecords(StoredRecords):
    @pytest.fixture
    def place(self, path):
        return path


@pytest.fixture
def records(path):
    found = open_records(path, timeout=0.2)
    yield found
    found.close()


def test_only_the_owner_may_read_the_files(records, path):
    records.add(a_job("mnist"))

    modes = {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert modes == {0o600}


def test_locked_database_refuses_writers_and_serves_readers(records, path):
    job = records.add(a_job("mnist"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(Unavailable, match="does not answer: database is locked"):
            records.add(a_job("other"), "token")
        with pytest.raises(Unavailable, match="locked"):
            records.save(job)
        with pytest.raises(Unavailable, match="locked"):
            records.remove(job.id)

        assert records.get("mnist") == job
        assert records.living() == (job,)
        other.execute("ROLLBACK")

    assert records.add(a_job("other"), "token").name == "other"
    assert [found.name for found in records.page()] == ["other", "mnist"]


def test_writer_stops_waiting_for_another_thread(records):
    inside, done = threading.Event(), threading.Event()

    def hold():
        with records._database.writing():
            inside.set()
            done.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(30)
    with pytest.raises(Unavailable, match="busy"):
        records.add(a_job("mnist"))
    done.set()
    holder.join(30)

    assert records.add(a_job("mnist")).name == "mnist"


def test_an_error_inside_a_transaction_leaves_nothing(records):
    job = a_job("mnist")
    values = {"id": job.id, "name": job.name, "created": job.created, **_columns(job)}

    def write_and_fail():
        with records._database.writing(new=True) as connection:
            connection.execute(jobs.insert().values(**values))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_and_fail()
    assert records.page() == ()


def test_new_job_is_synced_to_disk(records):
    """NORMAL may lose the last changes with the power; agents report them again, but no new job."""
    text = []
    event.listen(
        records._database.engine, "before_cursor_execute", lambda *about: text.append(about[2])
    )

    job = records.add(a_job("mnist"))
    added = text[:2]
    text.clear()
    records.save(job)

    assert added == ["PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"]
    assert text[:2] == ["PRAGMA synchronous = NORMAL", "BEGIN IMMEDIATE"]
    with records._database.writing(new=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_closed_records_are_unavailable(records):
    records.close()
    records.close()

    with pytest.raises(Unavailable, match="has been closed"):
        records.page()
    with pytest.raises(Unavailable, match="has been closed"):
        records.add(a_job("mnist"))


def test_a_directory_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "home").write_text("a file")

    with pytest.raises(Unavailable, match=r"danlu\.db does not answer: .*home"):
        open_records(tmp_path / "home" / "danlu.db")


def test_a_broken_file_is_reported(tmp_path):
    path = tmp_path / "danlu.db"
    path.write_bytes(b"no database at all, but long enough to look like one" * 100)

    with pytest.raises(Unavailable, match="file is not a database") as caught:
        open_records(path)

    assert "damaged" in caught.value.hint


FULL_DISK = """
import resource, sys
from pathlib import Path
from danlu.errors import Unavailable
from danlu.records.sql import open_records
from contracts.records import a_job

records = open_records(Path(sys.argv[1]))
first = records.add(a_job("first"))
resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, resource.RLIM_INFINITY))
accepted = ["first"]
try:
    for index in range(1000):
        records.add(a_job(f"job-{index}"))
        accepted.append(f"job-{index}")
except Unavailable as error:
    print(error.message)
assert records.get("first") == first
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
records.add(a_job("after"))
names = [job.name for job in records.page(limit=2000)]
assert names == ["after", *reversed(accepted)], (names, accepted)
records.close()
"""


def test_full_disk_is_unavailable_until_space_is_free(path):
    """Every write past a size fails, as on a full disk; then it is lifted in the same process."""
    ran = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path],
        cwd=Path(__file__).parents[1],  # python -c imports from where it is started
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stderr
    assert "does not answer" in ran.stdout


@pytest.mark.parametrize(
    ("states", "name", "before"),
    [
        ((), "", ""),
        ((), "mnist", ""),
        ((JobState.FAILED,), "", "0g"),
        ((JobState.FAILED, JobState.QUEUED), "mnist", "0g"),
    ],
)
def test_a_page_is_chosen_without_reading_documents(records, states, name, before):
    with records._database.reading() as connection:
        compiled = _page(states, name, 50, before).compile(
            connection, compile_kwargs={"literal_binds": True}
        )
        explained = connection.exec_driver_sql(
            f"EXPLAIN QUERY PLAN {compiled}".replace("%%", "%")
        ).all()

    steps = [row.detail for row in explained if row.detail.startswith(("SCAN", "SEARCH"))]
    assert all(" INDEX " in step for step in steps)
    assert "COVERING INDEX" in steps[-1]


def test_living_are_parsed_again_only_when_they_changed(records):
    waiting = records.add(a_job("waiting"))
    (before,) = records.living()

    records.save(records.add(a_job("other")))
    after = records.living()

    assert after[0] == waiting
    assert after[0] is before
