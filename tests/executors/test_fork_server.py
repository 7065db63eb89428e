"""Forked agents behave as agents that are started as new processes."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.executor import WAITS_FOR_EVER, Bench, eventually
from danlu.executors.agents import ForkServerClient
from danlu.executors.local import LocalExecutor
from danlu.job.state import Reason
from danlu.sandbox.cgroup import own_groups
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import alive, started

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
    bench.prints(task, "here")
    yield task, TaskDir(LocalJobFiles(settings.jobs / task.job_id), 1, task.name).agent()
    bench.stop(task, grace=0.1)


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def spare_beside(agent):
    """Return the agent that has no task yet, once its sandbox launcher waits."""
    server = parent_of(agent)
    spares = {}

    def waits():
        spares.update({pid: _children(pid) for pid in _children(server) if pid != agent})
        return any(spares.values())

    eventually(waits)
    (spare,) = spares
    return spare


def test_agent_is_forked_with_loaded_modules(running):
    _, agent = running
    server = parent_of(agent.pid)

    assert b"danlu.agent.fork_server" in Path(f"/proc/{server}/cmdline").read_bytes()


def test_agent_has_session_and_files_of_its_own(running, settings):
    task, agent = running
    open_files = {os.readlink(path) for path in Path(f"/proc/{agent.pid}/fd").iterdir()}
    own = settings.work / task.job_id / "1" / task.name / "agent.log"

    assert os.getsid(agent.pid) == agent.pid
    assert {str(own), os.devnull} <= open_files
    assert not [name for name in open_files if name.startswith("socket:")]


def test_agents_survive_the_kill_of_the_fork_server(running, settings, tmp_path, bench):
    task, agent = running
    os.kill(parent_of(agent.pid), signal.SIGKILL)
    another = Bench(bench.executor, tmp_path)
    second = another.task("print('second')", attempt=2)
    another.start(second)

    assert another.ended(second).reason is Reason.DONE
    assert alive(agent)
    assert bench.outcome(task) is None


def test_a_killed_agent_is_seen_at_once(tmp_path):
    server = ForkServerClient(os.environ)
    with open(tmp_path / "log", "ab") as output:
        forked = server.fork_agent(NOBODYS, output.fileno())

    forked.kill()
    forked.wait()

    assert forked.poll() == 0
    assert started(forked.pid) is None


def test_spare_agent_gets_the_next_task(running, bench, settings, tmp_path):
    _, agent = running
    spare = spare_beside(agent.pid)
    another = Bench(bench.executor, tmp_path)
    second = another.task("import os; print('agent', os.getppid())")
    another.start(second)

    assert another.ended(second).reason is Reason.DONE
    assert f"agent {spare}" in another.log(second)
    own = TaskDir(LocalJobFiles(settings.jobs / second.job_id), 1, second.name).agent()
    assert own.pid == spare
    eventually(lambda: not Path(own.cgroup or "/nonexistent").exists())


def test_task_runs_after_spare_agent_was_killed(running, bench, tmp_path):
    _, agent = running
    spare = spare_beside(agent.pid)
    os.kill(spare, signal.SIGKILL)
    eventually(lambda: started(spare) is None)
    another = Bench(bench.executor, tmp_path)
    second = another.task("print('here')")
    another.start(second)

    assert another.ended(second).reason is Reason.DONE


def test_spare_agent_exits_with_fork_server_and_cgroup(running):
    _, agent = running
    spare = spare_beside(agent.pid)
    waiting = _children(spare)
    os.kill(parent_of(agent.pid), signal.SIGKILL)

    eventually(lambda: started(spare) is None)
    assert waiting
    assert not [pid for pid in waiting if started(pid) is not None]
    (groups,) = own_groups("")
    assert groups is None or not list(groups.glob(f"danlu-agent-{spare}-*"))


def test_fork_server_exits_with_its_client(tmp_path):
    others = set(_children(os.getpid()))
    server = ForkServerClient(os.environ)
    with open(tmp_path / "log", "ab") as output:
        forked = server.fork_agent(NOBODYS, output.fileno())
    forked.wait()
    (pid,) = [pid for pid in _children(os.getpid()) if pid not in others and _runs_fork_server(pid)]

    del server

    eventually(lambda: started(pid) is None)


def test_fork_server_exits_silently_after_server_kill(tmp_path):
    """The answer to its last question was never read: the connection is reset, not closed."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs, open(tmp_path / "log", "ab") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "danlu.agent.fork_server"], stdin=theirs, stderr=subprocess.PIPE
        )
        socket.send_fds(ours, [json.dumps(NOBODYS).encode()], [output.fileno()])
        assert ours.recv(1, socket.MSG_PEEK)
        ours.close()
        printed = server.communicate(timeout=60)[1]

    assert (server.returncode, printed) == (0, b"")


@pytest.mark.parametrize(
    "command", [(sys.executable, "-c", "raise SystemExit(1)"), ("/nonexistent",)]
)
def test_agent_is_spawned_when_fork_fails(settings, tmp_path, command):
    bench = Bench(LocalExecutor(settings, fork_server_command=command), tmp_path)
    task = bench.task("print('here')")
    bench.start(task)

    assert bench.ended(task).reason is Reason.DONE


def _children(pid):
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs_fork_server(pid):
    return b"danlu.agent.fork_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
