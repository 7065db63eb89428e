"""The database is locked: the server answers, jobs continue, and nothing is lost."""

import sqlite3
from contextlib import closing

import pytest

from contracts.executor import eventually
from danlu.errors import Unavailable
from danlu.taskdir.processes import task_pids


@pytest.mark.timeout(300)
def test_a_locked_database_is_waited_for(settings, client, waits_for, post_once, tmp_path):
    running = client.submit(waits_for)["id"]
    eventually(lambda: "up" in [line.text for line in client.lines(running).lines])
    server = (settings.home / "server.json").read_text()

    with closing(sqlite3.connect(settings.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="database is locked"):
            post_once(waits_for)
        assert client.job(running)["state"] == "running"  # who reads does not wait
        (tmp_path / "end").touch()
        eventually(lambda: not list(task_pids(f"{running}/")))
        assert [job["state"] for job in client.jobs()["jobs"]] == ["running"]
        other.execute("ROLLBACK")

    assert client.wait(running, timeout=60)["state"] == "succeeded"
    again = client.submit(waits_for)["id"]
    assert client.wait(again, timeout=60)["state"] == "succeeded"
    assert [job["id"] for job in client.jobs()["jobs"]] == [again, running]
    assert (settings.home / "server.json").read_text() == server
