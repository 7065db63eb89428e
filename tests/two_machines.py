"""A cluster of this machine and another: answers what Ray would, with the real holders of agents.

While the cable is cut Ray does not know how the holder there is; after a while it takes the whole
node for dead, whatever is still running there.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from danlu.executors.ray.access import GONE, PENDING, READY, UNKNOWN
from danlu.executors.ray.agent_actor import AgentActor
from network import FarMachine

HERE, THERE = "here", "there"


class TwoMachines:
    """Stands for ``danlu.executors.ray.link.Link``. A job goes to the other machine, if it can."""

    def __init__(self, machine: FarMachine, home: Path) -> None:
        self.is_cut = False
        self.is_dead = False  # as Ray reports the other machine
        self._machine = machine
        self._home = home
        self._holders: dict[tuple[str, str], tuple[str, AgentActor]] = {}
        self._lock = threading.Lock()

    def cut(self) -> None:
        self.is_cut = True
        self._machine.cut()

    def heal(self) -> None:
        self._machine.heal()
        self.is_cut = False

    def call(self, name: str, _timeout: float = 0, /, **arguments: Any) -> Any:
        with self._lock:
            return getattr(self, f"_{name}")(**arguments)

    def close(self) -> None:
        """Leave nothing; an agent dies with its holder."""
        for key in list(self._holders):
            self._drop(key)

    def _nodes(self) -> list[dict[str, Any]]:
        there = [] if self.is_dead else [self._machine.far]
        return [
            {"host": host, "cpus": 4.0, "memory": 1 << 30, "gpus": 0}
            for host in [self._machine.near, *there]
        ]

    def _reserve(self, job_id: str, tasks: Sequence[str], **_: Any) -> dict[str, Any]:
        if self.is_cut and not self.is_dead:
            return {"state": PENDING}  # Ray would still wait for that node
        where = HERE if self.is_cut or self.is_dead else THERE
        for task in tasks:
            holder = AgentActor(job_id, task, str(self._home / where))
            self._holders.setdefault((job_id, task), (where, holder))
        return {"state": READY, "places": [self._place(job_id, task) for task in tasks]}

    def _place(self, job_id: str, task: str) -> dict[str, Any]:
        where, _ = self._holders[job_id, task]
        host = self._machine.far if where == THERE else self._machine.near
        work = str(self._home / where / "work")
        return {"host": host, "port": 0, "gpus": [], "isolation": {}, "work": work}

    def _begin(self, job_id: str, tasks: Mapping[str, tuple[int, str]]) -> dict[str, Any]:
        return {
            task: self._ask(job_id, task, lambda holder, given=given: holder.begin(*given))
            for task, given in tasks.items()
        }

    def _states(self, job_id: str, tasks: Mapping[str, int]) -> dict[str, Any]:
        return {
            task: self._ask(job_id, task, lambda holder, number=number: holder.state(number))
            for task, number in tasks.items()
        }

    def _signal(self, job_id: str, task: str, attempt: int, number: int) -> Any:
        return self._ask(job_id, task, lambda holder: holder.signal(attempt, number))

    def _finish(self, job_id: str, task: str, attempt: int, cgroup: str, kill: bool) -> bool:
        done = self._ask(job_id, task, lambda holder: holder.finish(attempt, cgroup, kill))
        return done in (True, GONE)

    def _release(self, job_id: str) -> None:
        for key in [key for key in self._holders if key[0] == job_id]:
            # Processes beyond the cut are not notified, and continue.
            if self._holders[key][0] == HERE or not self.is_cut:
                self._drop(key)
            else:
                self._holders["lost " + key[0], key[1]] = self._holders.pop(key)

    def _held(self) -> list[str]:
        return sorted({job_id for job_id, _ in self._holders if not job_id.startswith("lost ")})

    def _ask(self, job_id: str, task: str, work: Callable[[AgentActor], Any]) -> Any:
        where, holder = self._holders.get((job_id, task), ("", None))
        if holder is None or (where == THERE and self.is_dead):
            return GONE
        if where == THERE:
            return UNKNOWN if self.is_cut else self._machine.do(lambda: work(holder))
        return work(holder)

    def _drop(self, key: tuple[str, str]) -> None:
        _, holder = self._holders.pop(key)
        for agent in holder._agents.values():
            agent.kill()
            agent.wait()
