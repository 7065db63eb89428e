"""Tasks on a Ray cluster, an actor with one agent each.

All state lies in Ray, by name, and in the object store, by job: a new executor goes on where the
one before it was killed. Protocol: docs/design/task-directory.md
"""

import dataclasses
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from danlu.errors import InvalidJob, NoCapacity, Unavailable
from danlu.executors.api import Capacity, Node
from danlu.executors.handing import secrets_of
from danlu.executors.ray.access import find_access
from danlu.executors.ray.fitting import faults, spread
from danlu.executors.ray.link import Link
from danlu.executors.ray.places import bundles_of, imagined, places_of
from danlu.executors.ray.stopping import Stopping
from danlu.executors.ray.store import Directories, telling
from danlu.executors.ray.watching import Watching
from danlu.executors.ray.words import PENDING, READY
from danlu.job.curves import Curves
from danlu.job.plan import Place, Role, Task
from danlu.job.status import TaskStatus
from danlu.job.translation import Translation
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir, newest_attempt, raise_fence
from danlu.taskdir.handover import Handover, settings_to_hand_over
from danlu.taskdir.log import LogReader

log = logging.getLogger(__name__)

BEAT = 2.0  # seconds; a beat costs three requests to the store
_RECENT = 2.0  # seconds for which the nodes of the cluster are kept in mind


@dataclasses.dataclass(frozen=True)
class Patience:
    """Seconds to wait within one call, for room and for holders; a job asks again anyway."""

    room: float = 0.0
    holders: float = 5.0


class RayExecutor:
    """Safe to use from several threads."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        *,
        link: Link | None = None,
        patience: Patience = Patience(),  # noqa: B008 - frozen
        beat: float = BEAT,
    ) -> None:
        """Raises: Refused where the settings name no store that every node reaches."""
        self._settings = settings
        self._clock = clock
        self._patience = patience
        self._beat = beat
        self._directories = Directories(settings)
        scope = "danlu-" + hashlib.sha256(self._directories.canonical.encode()).hexdigest()[:12]
        self._link = link or Link(lambda: find_access(settings), scope)
        self._watching = Watching(self._link, self._files, clock)
        self._stopping = Stopping(self._link, self._watching, self._files, self._hosts, clock)
        self._begun: set[tuple[str, int, str]] = set()
        self._owed: set[str] = set()  # jobs whose room is to be given back
        self._nodes: tuple[float, list[Node]] = (-_RECENT, [])
        self._starting = threading.Lock()

    def prepare(self) -> None:
        """Nothing: agents are started on nodes, and who holds one there is Ray's to start."""

    def forsake(self, job_id: str) -> bool:
        return True  # whoever takes a job over goes on with these very tasks

    def close(self) -> None:
        self._link.close()

    def capacity(self) -> Capacity:
        nodes = self._known_nodes()
        return Capacity(
            cpus=sum(node.cpus for node in nodes),
            memory=sum(node.memory for node in nodes),
            gpus=tuple(f"{node.host}/{index}" for node in nodes for index in range(node.gpus)),
            nodes=tuple(nodes),
        )

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        nodes = self._known_nodes()
        hosts = spread(roles, nodes)
        if hosts is None:
            raise InvalidJob(faults(roles, nodes))
        return imagined(roles, hosts)

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        self._give_back()
        found: dict[str, Any] = self._link.call(
            "reserve",
            self._patience.room + self._patience.holders + 30.0,
            job_id=job_id,
            tasks=[f"{role.name}-{index}" for role in roles for index in range(role.count)],
            bundles=bundles_of(roles),
            home=self._settings.node_home,
            isolated=self._settings.isolation != "none",
            room=self._patience.room,
            patience=self._patience.holders,
        )
        if found["state"] != READY:
            pending = found["state"] == PENDING
            why = "there is no room in the cluster" if pending else "its places are being prepared"
            raise NoCapacity(f"Job {job_id} waits: {why}.")
        if attempt is None:
            with telling():
                attempt = newest_attempt(self._directories.carrier(job_id)) + 1
        return places_of(job_id, attempt, roles, found["places"])

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        with self._starting, telling():
            due = [task for task in tasks if _key(task) not in self._begun]
            if not due:
                return
            wanted = {task.name: task for task in due if self._lay_down(task, secrets)}
            values, files = settings_to_hand_over(self._settings)
            self._link.call(
                "begin",
                job_id=job_id,
                tasks={
                    name: (
                        task.attempt,
                        Handover(
                            job_id,
                            task.attempt,
                            name,
                            {secret: secrets[secret] for secret in task.secrets},
                            values,
                            files,
                        ).dump(),
                    )
                    for name, task in wanted.items()
                },
            )
            self._begun.update(_key(task) for task in due)

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        with telling():
            return self._watching.statuses(tasks)

    def logs(self, job_id: str, attempt: int, task: str) -> LogReader:
        return TaskDir(self._directories.glance(job_id), attempt, task).log_reader()

    def translation(self, job_id: str, attempt: int, task: str) -> Translation:
        with telling():
            return self._directory(job_id, attempt, task).translation()

    def curves(self, job_id: str, attempt: int, task: str) -> Curves:
        with telling():
            return self._directory(job_id, attempt, task).curves()

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        with telling():
            self._watching.ask_holders(tasks)
            # A list, not a generator: every task is asked before the answer is given.
            return all([self._stopping.end(task, grace, why) for task in tasks])

    def release(self, job_id: str) -> None:
        """Give the room back; where the cluster does not answer now, as soon as it does."""
        self._watching.forget(job_id)
        self._begun = {key for key in self._begun if key[0] != job_id}
        self._owed.add(job_id)
        try:
            self._give_back()
        except Unavailable as error:
            log.warning("release later job=%s because=%s", job_id, error.message)

    def held(self) -> Sequence[str]:
        self._give_back()
        found: list[str] = self._link.call("held")
        return found

    def scratch(self) -> Sequence[str]:
        return ()  # on the nodes; an agent removes its own

    def clear(self, job_id: str) -> None:
        pass

    def remove(self, job_id: str) -> None:
        self.release(job_id)
        with telling():
            self._directories.remove(job_id)

    def _give_back(self) -> None:
        for job_id in list(self._owed):
            self._link.call("release", job_id=job_id)
            self._owed.discard(job_id)

    def _lay_down(self, task: Task, secrets: Mapping[str, str]) -> bool:
        """Write the plan of a task; False where it is not to be started (again)."""
        carrier, files = self._directories.carrier(task.job_id), self._files(task)
        raise_fence(carrier, task.attempt)
        if newest_attempt(carrier) > task.attempt or files.agent() is not None:
            return False
        secrets_of(task, secrets)  # told before anything is written
        if not files.is_planned():
            beat = max(task.limits.heartbeat, self._beat)
            limits = dataclasses.replace(task.limits, heartbeat=beat)
            files.write_plan(dataclasses.replace(task, limits=limits), {})
        return True

    def _known_nodes(self, recent: float = _RECENT) -> list[Node]:
        at, nodes = self._nodes
        if self._clock() - at > recent:
            nodes = [Node(**node) for node in self._link.call("nodes")]
            self._nodes = (self._clock(), nodes)
        return nodes

    def _hosts(self) -> set[str]:
        return {node.host for node in self._known_nodes(recent=0)}

    def _files(self, task: Task) -> TaskDir:
        return self._directory(task.job_id, task.attempt, task.name)

    def _directory(self, job_id: str, attempt: int, task: str) -> TaskDir:
        return TaskDir(self._directories.carrier(job_id), attempt, task)


def _key(task: Task) -> tuple[str, int, str]:
    return (task.job_id, task.attempt, task.name)
