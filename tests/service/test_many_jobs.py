"""Ten thousand jobs in the records: what is read for a list, a look or a start stays as it was."""

import json
import sqlite3
from contextlib import closing

import pytest

from danlu.job.job import new_id
from danlu.job.state import JobState
from danlu.job.wire import to_wire
from danlu.records import sql
from danlu.records.sql import open_records

MANY = 10_000
NOW = 1_000_000.0
DAY = 24 * 3600.0


@pytest.fixture(params=[MANY])
def records(platform, tmp_path, request_of, request):
    """A database in which many jobs have ended in the last days."""
    path = tmp_path / "danlu.db"
    records = open_records(path)
    platform.records = records
    platform.assemble()
    first = platform.service.submit(request_of)
    platform.tick()
    platform.executor.end(first.id, 1, "worker-0")
    platform.tick()
    ended = platform.records.get(first.id)
    assert ended.state is JobState.SUCCEEDED
    copy_many(path, ended, request.param)
    platform.assemble()
    yield records
    records.close()


def copy_many(path, job, count):
    """Write copies of a job in one transaction: to submit each would take minutes."""
    document = json.dumps(to_wire(job))
    with closing(sqlite3.connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(jobs)")]
        (row,) = connection.execute("SELECT * FROM jobs WHERE id = ?", (job.id,))
        known = dict(zip(columns, row, strict=True))
        for number in range(count):
            made = new_id(NOW - number)
            known |= {"id": made, "name": f"job-{number}", "token": None}
            known["document"] = document.replace(job.id, made).replace(job.name, f"job-{number}")
            marks = ", ".join("?" * len(known))
            connection.execute(
                f"INSERT INTO jobs ({', '.join(known)}) VALUES ({marks})", tuple(known.values())
            )
        connection.commit()


@pytest.fixture
def parsed(monkeypatch, records):
    """The documents that were read, by what was done last."""
    seen = []
    read = sql._job
    monkeypatch.setattr(sql, "_job", lambda document: seen.append(1) or read(document))
    return seen


def test_new_server_reads_no_job_that_has_ended(platform, records, parsed):
    platform.tick()

    assert len(parsed) == 0


def test_look_at_living_reads_those_that_changed(platform, records, parsed, request_of):
    platform.service.submit(request_of)
    platform.tick()
    parsed.clear()

    for _ in range(10):
        platform.tick()

    assert len(parsed) <= 1


def test_a_page_reads_the_jobs_it_shows(platform, records, parsed):
    page = platform.service.page(limit=50)
    older = platform.service.page(limit=50, before=page[-1].id, states=[JobState.SUCCEEDED])

    assert len({job.id for job in (*page, *older)}) == 100
    assert len(parsed) == 100


def test_job_is_found_by_name_and_read_alone(platform, records, parsed):
    assert platform.service.get("job-9999").name == "job-9999"

    assert len(parsed) == 1


def test_old_logs_go_though_there_are_many_jobs(platform, records, parsed):
    platform.tick(platform.settings.log_days * DAY + 3600)

    assert len(platform.executor.removed) == MANY + 1
