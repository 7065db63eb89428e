"""Agents of a server that shares its records: they live no longer than its lease allows."""

import json

import pytest

from danlu.agent.control import HeartbeatThread, StopReason, StopRequest, StopSignal
from danlu.agent.task_runner import run_task
from danlu.job.plan import Command, Limits, Place, Task
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.lease import LocalLease, read_lease, since_boot, write_lease


def request_after_heartbeat(home, limits):
    stop_signal = StopSignal(lambda: StopRequest(StopReason.MACHINE, 30))
    files = TaskDir(LocalJobFiles(home / "jobs" / "j"), 1, "worker-0")
    HeartbeatThread(
        files, limits, stop_signal, free_space=lambda: True, home=home
    ).write_heartbeat()
    return stop_signal.request


@pytest.mark.parametrize(
    ("ended", "lease", "why"),
    [
        (-5, 10, None),
        (5, 10, None),
        (15, 10, StopReason.CUT_OFF),
        (15, 0, None),
        (None, 10, StopReason.CUT_OFF),
    ],
)
def test_script_is_stopped_after_lease_expired(tmp_path, ended, lease, why):
    if ended is not None:
        write_lease(tmp_path, LocalLease(1, since_boot() - ended))

    request = request_after_heartbeat(tmp_path, Limits(lease=lease))

    assert request == (None if why is None else StopRequest(why, 0))


@pytest.mark.parametrize(
    ("fence", "left"),
    [(1, -1.0), (2, 60.0), (2, -1.0)],
    ids=["ended", "taken again", "taken again and ended"],
)
def test_task_of_ended_lease_is_not_begun(tmp_path, fence, left):
    files = TaskDir(LocalJobFiles(tmp_path / "jobs" / "j"), 1, "worker-0")
    files.write_plan(Task("j", "j", "modelarts", 1, Place("worker", 0), Command("x"), fence=1), {})
    write_lease(tmp_path, LocalLease(fence, since_boot() + left))

    run_task(files, Settings(home=tmp_path))

    assert files.agent() is None


def test_a_term_of_before_a_reboot_has_ended(tmp_path):
    write_lease(tmp_path, LocalLease(3, since_boot() + 60))
    file = tmp_path / "lease.json"
    assert read_lease(tmp_path).seconds_since_expiry() < 0

    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "another"}))

    assert read_lease(tmp_path).seconds_since_expiry() > 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fence": 1'])
def test_a_term_that_cannot_be_read_has_ended(tmp_path, text):
    (tmp_path / "lease.json").write_text(text)

    assert read_lease(tmp_path) == LocalLease(0, 0.0)
