"""Tasks as processes of this machine, one agent each.

What is held and what is running lies on disk: a new executor over the same home goes on where
the one before it was killed. Protocol: docs/design/task-directory.md
"""

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from danlu.errors import InvalidJob, NoCapacity, Unavailable
from danlu.executors import room
from danlu.executors.agents import AGENT, Agents
from danlu.executors.api import Capacity
from danlu.executors.capacity import faults, left, machine_capacity
from danlu.executors.handing import secrets_of
from danlu.executors.isolation import PROBE, probe
from danlu.executors.nursery import NURSERY
from danlu.executors.ports import Ports
from danlu.executors.reservations import Reservations, lay_out
from danlu.executors.rubbish import Rubbish
from danlu.executors.stopping import Stopping
from danlu.executors.warm import WaitingProcesses
from danlu.executors.watch import Watches
from danlu.job.curves import Curves
from danlu.job.plan import Isolation, Place, Role, Task
from danlu.job.status import TaskStatus
from danlu.job.translation import Translation
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir, newest_attempt, raise_fence, tasks_of
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.log import LogReader

log = logging.getLogger(__name__)


class LocalExecutor:
    """Safe to use from several threads. ``wake`` is called when an agent has left."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] | None = None,
        *,
        agent_command: Sequence[str] = AGENT,
        probe_command: Sequence[str] = PROBE,
        nursery_command: Sequence[str] = NURSERY,
        waiting: WaitingProcesses | None = None,
    ) -> None:
        self._settings = settings
        self._probe_command = probe_command
        self._lock = threading.RLock()
        self._capacity = machine_capacity(settings)
        self._reservations = Reservations(settings.home / "places")
        self._ports = Ports()
        self._ports.keep(_ports_of(self._reservations.places()))
        self._rubbish = Rubbish(settings.home / "rubbish")
        self._agents = Agents(settings.home, agent_command, wake or (lambda: None), nursery_command)
        self._watches = Watches(self._agents, clock)
        self._stopping = Stopping(self._agents, self._watches, clock)
        self._waiting = waiting

    def prepare(self) -> None:
        with self._lock:
            self._agents.prepare()
        with contextlib.suppress(Unavailable, OSError):
            _ = self._isolation

    def capacity(self) -> Capacity:
        return self._capacity

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        places = lay_out(roles, self._capacity)
        if places is None:
            raise InvalidJob(faults(roles, self._capacity))
        with self._lock:
            self._agents.prepare()  # whoever asks where a job would run is about to submit it
            introduced = self._introduce(places)
            self._ports.drop(_ports_of(introduced))
            return self._furnish(job_id, introduced)

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        with self._lock:
            held = self._reservations.of(job_id)
            if held is None:
                held = self._introduce(self._find_room(_checked(job_id), roles))
                try:
                    self._reservations.hold(job_id, held)
                except OSError:
                    self._ports.drop(_ports_of(held))
                    raise
                log.info("reserve job=%s tasks=%s", job_id, len(held))
            return self._furnish(job_id, held, attempt)

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        with self._lock:
            for task in tasks:
                self._start(job_id, task, secrets)

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        with self._lock:
            return [self._watches.status(task, self._files(job_id, task)) for task in tasks]

    def logs(self, job_id: str, attempt: int, task: str) -> LogReader:
        return TaskDir(self._carrier(job_id), attempt, task).log_reader()

    def translation(self, job_id: str, attempt: int, task: str) -> Translation:
        return TaskDir(self._carrier(job_id), attempt, task).translation()

    def curves(self, job_id: str, attempt: int, task: str) -> Curves:
        return TaskDir(self._carrier(job_id), attempt, task).curves()

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        with self._lock:
            # A list, not a generator: every task is asked before the answer is given.
            return all(
                [self._stopping.end(task, self._files(job_id, task), grace, why) for task in tasks]
            )

    def release(self, job_id: str) -> None:
        with self._lock:
            self._ports.drop(_ports_of(self._reservations.of(job_id) or ()))
            self._reservations.drop(_checked(job_id))
            self._watches.forget(job_id)
            self._agents.forget(job_id)
            idle = left(self._capacity, self._reservations.places()).cpus >= 1
            if self._waiting is not None and idle:
                self._waiting.tend()

    def held(self) -> Sequence[str]:
        with self._lock:
            return self._reservations.jobs()

    def scratch(self) -> Sequence[str]:
        return [path.name for path in self._settings.work.glob("[!.]*") if path.is_dir()]

    def clear(self, job_id: str) -> None:
        self._rubbish.take(self._settings.work / _checked(job_id))

    def remove(self, job_id: str) -> None:
        self.release(job_id)
        for folder in (self._settings.work, self._settings.jobs):
            self._rubbish.take(folder / _checked(job_id))

    def forsake(self, job_id: str) -> bool:
        carrier = self._carrier(job_id)
        attempts = {
            int(name.split("/")[0]) for name, _ in carrier.names("") if "/plan.json" in name
        }
        if not attempts:
            return True
        # An agent that is fenced leaves at once: what it would still push is the other's now.
        raise_fence(carrier, max(attempts) + 1)
        files = [TaskDir(carrier, n, task) for n in attempts for task in tasks_of(carrier, n)]
        plans = [(found.plan(), found) for found in files]
        with self._lock:
            return all(
                [self._stopping.end(task, found, 0.0, "moved") for task, found in plans if task]
            )

    def close(self) -> None:
        """Agents live on, and all else is on disk."""
        if self._waiting is not None:
            self._waiting.close()

    def _start(self, job_id: str, task: Task, secrets: Mapping[str, str]) -> None:
        carrier, files = self._carrier(job_id), self._files(job_id, task)
        raise_fence(carrier, task.attempt)
        if newest_attempt(carrier) > task.attempt or files.agent() is not None:
            return
        if self._agents.knows(task):
            return  # on its way, or gone without a claim: poll() says which
        room.check(self._settings.home)
        files.write_plan(task, secrets_of(task, secrets))
        self._watches.began(task)
        self._agents.start(task, self._workspace(job_id, task.attempt, task.name))

    def _find_room(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        free = left(self._capacity, self._reservations.places())
        places = lay_out(roles, free)
        if places is None:
            raise NoCapacity(
                f"Job {job_id} needs more than the {free.cpus:g} CPUs,"
                f" {free.memory >> 20} MiB and {len(free.gpus)} GPUs that are free now."
            )
        return places

    def _introduce(self, places: Sequence[Place]) -> Sequence[Place]:
        """Give the tasks of a job their ports, and tell each of all."""
        if len(places) < 2:
            return places
        ports = self._ports.take(len(places))
        peers: dict[str, tuple[str, ...]] = {}
        for place, port in zip(places, ports, strict=True):
            peers[place.role] = (*peers.get(place.role, ()), f"{place.host}:{port}")
        return [
            dataclasses.replace(place, port=port, peers=peers)
            for place, port in zip(places, ports, strict=True)
        ]

    def _furnish(
        self, job_id: str, places: Sequence[Place], attempt: int | None = None
    ) -> Sequence[Place]:
        """Say how the tasks are kept apart in the attempt to come: each has a workspace."""
        attempt = attempt or newest_attempt(self._carrier(job_id)) + 1
        isolation = self._isolation
        furnished = []
        for place in places:
            workspace = self._workspace(job_id, attempt, place.task)
            root = "" if isolation.private_paths else str(workspace / "root")
            furnished.append(dataclasses.replace(place, isolation=isolation, root=root))
        return furnished

    @cached_property
    def _isolation(self) -> Isolation:
        if self._settings.isolation == "none":
            return Isolation()
        return probe(self._settings.work, self._probe_command)

    def _workspace(self, job_id: str, attempt: int, task: str) -> Path:
        return self._settings.work / _checked(job_id) / str(attempt) / task

    def _carrier(self, job_id: str) -> FileCarrier:
        return FileCarrier(self._settings.jobs / _checked(job_id))

    def _files(self, job_id: str, task: Task) -> TaskDir:
        return TaskDir(self._carrier(job_id), task.attempt, task.name)


def _ports_of(places: Iterable[Place]) -> list[int]:
    return [place.port for place in places if place.port]


def _checked(job_id: str) -> str:
    """Return the id when it can name a folder of its own and nothing else."""
    if not job_id or job_id.startswith(".") or "/" in job_id or "\0" in job_id:
        raise ValueError(f"{job_id!r} is not the id of a job")
    return job_id
