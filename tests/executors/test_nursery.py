"""Agents are born by fork, and live as those that are started as fresh processes do."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from danlu.executors.local import LocalExecutor
from danlu.executors.nursery import Nursery
from danlu.job.state import Reason
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.hierarchy import own_groups
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.process import alive, started
from danlu.testing.bench import WAITS_FOR_EVER, Bench, eventually

NOBODYS = ("--home", "/nonexistent", "--job", "none", "--attempt", "1", "--task", "worker-0")


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home", cpus=2, isolation="none", heartbeat=0.1)


@pytest.fixture
def bench(settings, tmp_path):
    return Bench(LocalExecutor(settings), tmp_path)


@pytest.fixture
def running(bench, settings):
    """Return a task that runs, and its agent."""
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.says(task, "here")
    yield task, TaskDir(FileCarrier(settings.jobs / task.job_id), 1, task.name).agent()
    bench.stop(task, grace=0.1)


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def spare_beside(agent):
    """Return the agent that has no task yet, once somebody waits at its door."""
    nursery = parent_of(agent)
    spares = {}

    def waits():
        spares.update({pid: _children(pid) for pid in _children(nursery) if pid != agent})
        return any(spares.values())

    eventually(waits)
    (spare,) = spares
    return spare


def test_an_agent_is_born_where_its_modules_are_loaded_already(running):
    _, agent = running
    nursery = parent_of(agent.pid)

    assert b"danlu.agent.nursery" in Path(f"/proc/{nursery}/cmdline").read_bytes()


def test_an_agent_has_a_session_and_files_of_its_own(running, settings):
    task, agent = running
    open_files = {os.readlink(path) for path in Path(f"/proc/{agent.pid}/fd").iterdir()}
    own = settings.work / task.job_id / "1" / task.name / "agent.log"

    assert os.getsid(agent.pid) == agent.pid
    assert {str(own), os.devnull} <= open_files
    assert not [name for name in open_files if name.startswith("socket:")]


def test_agents_live_on_when_the_nursery_is_killed_and_the_next_one_is_born_elsewhere(
    running, settings, tmp_path, bench
):
    task, agent = running
    os.kill(parent_of(agent.pid), signal.SIGKILL)
    another = Bench(bench.executor, tmp_path)
    second = another.task("print('second')", attempt=2)
    another.start(second)

    assert another.ended(second).reason is Reason.DONE
    assert alive(agent)
    assert bench.outcome(task) is None


def test_a_killed_agent_is_seen_at_once(tmp_path):
    nursery = Nursery(os.environ)
    with open(tmp_path / "log", "ab") as output:
        born = nursery.bear(NOBODYS, output.fileno())

    born.kill()
    born.wait()

    assert born.poll() == 0
    assert started(born.pid) is None


def test_one_agent_is_born_before_its_task_and_is_given_the_next_one(
    running, bench, settings, tmp_path
):
    _, agent = running
    spare = spare_beside(agent.pid)
    another = Bench(bench.executor, tmp_path)
    second = another.task("import os; print('agent', os.getppid())")
    another.start(second)

    assert another.ended(second).reason is Reason.DONE
    assert f"agent {spare}" in another.log(second)
    own = TaskDir(FileCarrier(settings.jobs / second.job_id), 1, second.name).agent()
    assert own.pid == spare
    eventually(lambda: not Path(own.cgroup or "/nonexistent").exists())


def test_a_spare_agent_that_was_killed_is_missed_by_nobody(running, bench, tmp_path):
    _, agent = running
    spare = spare_beside(agent.pid)
    os.kill(spare, signal.SIGKILL)
    eventually(lambda: started(spare) is None)
    another = Bench(bench.executor, tmp_path)
    second = another.task("print('here')")
    another.start(second)

    assert another.ended(second).reason is Reason.DONE


def test_a_spare_agent_leaves_with_the_nursery_and_takes_its_group_along(running):
    _, agent = running
    spare = spare_beside(agent.pid)
    waiting = _children(spare)
    os.kill(parent_of(agent.pid), signal.SIGKILL)

    eventually(lambda: started(spare) is None)
    assert waiting
    assert not [pid for pid in waiting if started(pid) is not None]
    (groups,) = own_groups("")
    assert groups is None or not list(groups.glob(f"danlu-agent-{spare}-*"))


def test_the_nursery_leaves_with_whoever_started_it(tmp_path):
    others = set(_children(os.getpid()))
    nursery = Nursery(os.environ)
    with open(tmp_path / "log", "ab") as output:
        born = nursery.bear(NOBODYS, output.fileno())
    born.wait()
    (pid,) = [pid for pid in _children(os.getpid()) if pid not in others and _runs_nursery(pid)]

    del nursery

    eventually(lambda: started(pid) is None)


def test_the_nursery_leaves_without_a_word_when_its_server_is_killed(tmp_path):
    """The answer to its last question was never read: the connection is reset, not closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, open(tmp_path / "log", "ab") as output:
        nursery = subprocess.Popen(
            [sys.executable, "-m", "danlu.agent.nursery"], stdin=theirs, stderr=subprocess.PIPE
        )
        socket.send_fds(ours, [json.dumps(NOBODYS).encode()], [output.fileno()])
        assert ours.recv(1, socket.MSG_PEEK)
        ours.close()
        said = nursery.communicate(timeout=60)[1]

    assert (nursery.returncode, said) == (0, b"")


@pytest.mark.parametrize(
    "command", [(sys.executable, "-c", "raise SystemExit(1)"), ("/nonexistent",)]
)
def test_an_agent_that_cannot_be_born_is_started(settings, tmp_path, command):
    bench = Bench(LocalExecutor(settings, nursery_command=command), tmp_path)
    task = bench.task("print('here')")
    bench.start(task)

    assert bench.ended(task).reason is Reason.DONE


def _children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs_nursery(pid):
    return b"danlu.agent.nursery" in Path(f"/proc/{pid}/cmdline").read_bytes()
