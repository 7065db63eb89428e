"""The actor that runs the agent of one task on its node, for as long as its reservation exists.

No method waits for a task, and every method may be called again. The agent dies with its actor.
"""

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from danlu.errors import ExecutorError
from danlu.executors.machine import Ports, probe
from danlu.executors.ray.access import ENDED, IDLE, RUNNING
from danlu.executors.task_monitor import kill_task_processes
from danlu.job.status import Agent
from danlu.job.wire import to_wire
from danlu.settings import default_home
from danlu.taskdir.processes import MARK, mark, task_pids


def end_orphans(job_id: str, attempt: int) -> None:
    """Kill every process of a job's earlier attempts that has no agent among its ancestors.

    Processes below an agent are left to it. The fence informs the agent of the newer attempt.
    """
    for pid in list(task_pids(f"{job_id}/")):
        if _attempt(pid, job_id) < attempt and not any(map(_is_agent, _ancestors(pid))):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _attempt(pid: int, job_id: str) -> int:
    """Return the attempt of a process, or a very large number if it is unknown."""
    begin = f"{MARK}={job_id}/".encode()
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        found = next(variable for variable in variables if variable.startswith(begin))
        return int(found[len(begin) :].split(b"/", 1)[0])
    except (OSError, ValueError, StopIteration):
        return 1 << 31


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            return
        pid = int(fields[1])
        yield pid


def _is_agent(pid: int) -> bool:
    try:
        return b"danlu.agent" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


log = logging.getLogger(__name__)

_TRIES = 10
_AGENT = (sys.executable, "-m", "danlu.agent.remote")


class AgentActor:
    """Starts, signals and ends the agents of one task, one for each attempt."""

    def __init__(self, job_id: str, task: str, home: str) -> None:
        self._job_id = job_id
        self._task = task
        self._home = Path(home) if home else default_home(os.environ) / "node"
        self._ports = Ports()
        self._agents: dict[int, subprocess.Popen[bytes]] = {}
        self._place: dict[str, Any] = {}

    def hello(self, isolated: bool) -> dict[str, Any]:
        """Return node, port, GPUs and isolation of this task; the same at every call."""
        if not self._place:
            import ray

            here = ray.get_runtime_context()
            work = self._home / "work"
            self._place = {
                "node": here.get_node_id(),
                "host": ray.util.get_node_ip_address(),
                "port": self._ports.take(1)[0],
                "gpus": here.get_accelerator_ids().get("GPU", []),
                "isolation": to_wire(probe(work)) if isolated else {},
                "work": str(work.resolve()),
            }
        return self._place

    def begin(self, attempt: int, handover: str) -> str:
        """Start the agent of an attempt once. The handover is never written to a disk."""
        if attempt not in self._agents:
            end_orphans(self._job_id, attempt)
            folder = self._home / "work" / self._job_id / str(attempt) / self._task
            with _open_log(folder) as output:
                agent = subprocess.Popen(
                    [*_AGENT, "--home", str(self._home), "--holder", str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    cwd="/",
                    env=_environment(),
                    start_new_session=True,
                )
            self._agents[attempt] = agent
            assert agent.stdin is not None
            try:
                agent.stdin.write(handover.encode() + b"\n")
                agent.stdin.close()
            except BrokenPipeError:
                log.warning("agent left early attempt=%s", attempt)
        return self.state(attempt)

    def state(self, attempt: int) -> str:
        agent = self._agents.get(attempt)
        if agent is None:
            return IDLE
        return RUNNING if agent.poll() is None else ENDED

    def signal(self, attempt: int, number: int) -> str:
        agent = self._agents.get(attempt)
        if agent is not None and agent.poll() is None:
            agent.send_signal(number)
        return self.state(attempt)

    def finish(self, attempt: int, cgroup: str, kill: bool) -> bool:
        """End the rest of an attempt; return True if no process of it is left."""
        agent = self._agents.get(attempt)
        if agent is not None and agent.poll() is None:
            if not kill:
                return False
            agent.kill()
            agent.wait()
        return kill_task_processes(
            Agent(pid=0, started=0, host="", cgroup=cgroup),
            mark(self._job_id, attempt, self._task),
        )


def _open_log(folder: Path) -> BinaryIO:
    """Open the log of an agent. An earlier agent of the job may be deleting the folder."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return open(folder / "agent.log", "ab")
    raise ExecutorError.from_key("ray.no_folder", folder=folder, nodename=os.uname().nodename)


def _environment() -> dict[str, str]:
    """Return the environment of the node without the variables that Ray added."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("RAY_") and name != "PYTHONDONTWRITEBYTECODE"
    }
