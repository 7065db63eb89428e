"""Process identity: never another process with the same pid."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from danlu.taskdir.processes import (
    MARK,
    alive,
    has_mark,
    mark,
    running,
    started,
    task_pids,
    this_agent,
)


@pytest.fixture
def sleeper():
    started_processes = []

    def start(value):
        script = "print(flush=True); import time; time.sleep(600)"
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, MARK: value},
            stdout=subprocess.PIPE,
        )
        process.stdout.readline()  # now it is past exec: its environment is its own
        started_processes.append(process)
        return process

    yield start
    for process in started_processes:
        process.kill()
        process.wait()
        process.stdout.close()


def test_this_process_is_alive():
    assert alive(this_agent())


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "another boot"}, {"pid": 0}])
def test_process_with_same_number_is_not_same(change):
    assert not alive(replace(this_agent(), **change))


def test_a_zombie_is_not_alive(sleeper):
    process = sleeper("a/1/worker-0")
    agent = replace(this_agent(), pid=process.pid, started=started(process.pid))
    assert alive(agent)

    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # ended, and not yet reaped

    assert not alive(agent)
    assert list(task_pids("a/1/worker-0")) == []


def test_the_name_of_a_program_may_hold_anything(tmp_path):
    program = tmp_path / "a) S (b"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(program), "600"])
    try:
        assert isinstance(started(process.pid), int)
    finally:
        process.kill()
        process.wait()


def test_marked_finds_task_or_job_without_neighbours(sleeper):
    first = sleeper(mark("job1", 1, "worker-1"))
    second = sleeper(mark("job1", 2, "worker-0"))
    sleeper(mark("job1", 1, "worker-10"))
    other = sleeper(mark("job12", 1, "worker-1"))

    assert list(task_pids("job1/1/worker-1")) == [first.pid]
    assert {first.pid, second.pid} < set(task_pids("job1/"))
    assert other.pid not in set(task_pids("job1/"))
    assert has_mark(other.pid, "job12/")
    assert not has_mark(os.getpid(), "job1/")


def test_mark_is_looked_for_only_among_those_named(sleeper):
    first, second = sleeper("job1/1/worker-0"), sleeper("job1/1/worker-1")

    assert list(task_pids("job1/", among=[second.pid])) == [second.pid]
    assert running()[first.pid].parent == os.getpid()
