"""Holds the agent of one task on its node: in an actor, which lives as long as its place is held.

Every method returns at once, and may be called again. The agent dies with its holder.
"""

import contextlib
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, BinaryIO

from danlu.errors import ExecutorError
from danlu.executors.ending import end_rest
from danlu.executors.isolation import probe
from danlu.executors.ports import Ports
from danlu.executors.ray.orphans import end_orphans
from danlu.executors.ray.words import ENDED, IDLE, RUNNING
from danlu.job.status import Agent
from danlu.job.wire import to_wire
from danlu.settings import default_home
from danlu.taskdir.process import mark

log = logging.getLogger(__name__)

_TRIES = 10
_AGENT = (sys.executable, "-m", "danlu.agent.remote")


class Holder:
    def __init__(self, job_id: str, task: str, home: str) -> None:
        self._job_id = job_id
        self._task = task
        self._home = Path(home) if home else default_home(os.environ) / "node"
        self._ports = Ports()
        self._agents: dict[int, subprocess.Popen[bytes]] = {}
        self._place: dict[str, Any] = {}

    def hello(self, isolated: bool) -> dict[str, Any]:
        """Return what this place is; the same every time."""
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
        """Start the agent of an attempt, once. What it is handed never lies on a disk."""
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
        """End what is left of an attempt; True when no process of it is there any more."""
        agent = self._agents.get(attempt)
        if agent is not None and agent.poll() is None:
            if not kill:
                return False
            agent.kill()
            agent.wait()
        return end_rest(
            Agent(pid=0, started=0, host="", cgroup=cgroup),
            mark(self._job_id, attempt, self._task),
        )


def _open_log(folder: Path) -> BinaryIO:
    """Open the agent's own log; an earlier agent may be removing the folder of a job it left."""
    for _ in range(_TRIES):
        with contextlib.suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return open(folder / "agent.log", "ab")
    raise ExecutorError(f"{folder} cannot be made on node {os.uname().nodename}.")


def _environment() -> dict[str, str]:
    """Return this node's own variables; those that Ray gave this process are not an agent's."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("RAY_") and name != "PYTHONDONTWRITEBYTECODE"
    }
