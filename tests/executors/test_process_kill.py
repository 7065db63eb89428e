"""Kills all processes of a task, and no other process."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.executors.task_monitor import kill_task_processes, signal_agent
from danlu.sandbox import cgroup
from danlu.taskdir.processes import MARK, started, this_agent

UNIFIED = next(
    (
        line.split()[1]
        for line in Path("/proc/mounts").read_text().splitlines()
        if "cgroup2" in line
    ),
    "",
)


@pytest.fixture
def sleeper():
    processes = []

    def start(**env):
        process = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)"],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
        )
        process.stdout.readline()
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def agent_at(process, **changes):
    agent = replace(this_agent(), pid=process.pid, started=started(process.pid))
    return replace(agent, **changes)


def test_the_agent_that_is_meant_is_signalled(sleeper):
    process = sleeper()

    assert signal_agent(agent_at(process), signal.SIGKILL)

    assert process.wait() == -signal.SIGKILL
    assert not signal_agent(agent_at(process, started=1), signal.SIGKILL)


@pytest.mark.parametrize("change", [{"started": 1}, {"boot": "before the power cut"}])
def test_reused_pid_is_not_signalled(sleeper, change):
    """Reliability: never signals a reused pid after a reboot or a long time."""
    other = sleeper()

    assert not signal_agent(agent_at(other, **change), signal.SIGKILL)
    assert kill_task_processes(agent_at(other, **change), "job/1/worker-0")

    assert other.poll() is None


def test_only_marked_processes_are_ended(sleeper):
    ours, sibling = sleeper(**{MARK: "job/1/worker-0"}), sleeper(**{MARK: "job/1/worker-1"})

    assert not kill_task_processes(None, "job/1/worker-0")

    assert ours.wait() == -signal.SIGKILL
    assert sibling.poll() is None
    assert kill_task_processes(None, "job/1/worker-0")


@pytest.mark.skipif(
    not (UNIFIED and os.access(UNIFIED, os.W_OK)), reason="no cgroup v2 that we may write to"
)
def test_control_group_is_ended_whatever_its_members_did(sleeper):
    group = Path(UNIFIED, f"danlu-test-{os.getpid()}")
    (group / "made by the script").mkdir(parents=True)
    process = sleeper()
    (group / "made by the script/cgroup.procs").write_text(str(process.pid))
    agent = replace(this_agent(), pid=0, cgroup=str(group))

    assert not kill_task_processes(agent, "job/1/worker-0")

    assert process.wait() == -signal.SIGKILL
    eventually(lambda: kill_task_processes(agent, "job/1/worker-0"))
    assert not group.exists()


def test_all_groups_of_killed_agent_are_removed():
    """Where processes are counted on cgroup v1 there are two."""
    group = cgroup.create(f"test-killed-{os.getpid()}")
    if group is None:
        pytest.skip("no cgroup here that we may write to")

    assert kill_task_processes(
        replace(this_agent(), pid=0, cgroup=str(group.folder)), "job/1/worker-0"
    )

    assert not any(folder.exists() for folder in group.folders)
    group.remove()


@pytest.mark.parametrize("group", ["/sys/fs/cgroup", "/no/such/danlu-group"])
def test_group_that_is_not_ours_is_not_touched(group):
    assert kill_task_processes(replace(this_agent(), pid=0, cgroup=group), "job/1/worker-0")
