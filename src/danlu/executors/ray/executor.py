"""The executor that runs tasks on a Ray cluster, each in an actor with one agent.

All state is in Ray, by name, and in the object store, by job. A new executor continues where a
killed one stopped. Protocol: docs/design/task-directory.md
"""

import contextlib
import dataclasses
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from danlu.errors import InvalidJob, NoCapacity, Refused, StorageError, Unavailable
from danlu.executors.api import Capacity, Node
from danlu.executors.kept_files import KeptFilesStore, parse_kept_name
from danlu.executors.local import secrets_of
from danlu.executors.ray.access import PENDING, READY, find_access
from danlu.executors.ray.link import Link
from danlu.executors.ray.placement import bundles_of, faults, imagined, places_of, spread
from danlu.executors.ray.tasks import RayTaskMonitor, RayTaskStopper
from danlu.job.kept_files import FOLDER
from danlu.job.plan import Place, Role, Task
from danlu.job.status import TaskStatus, Unstored
from danlu.settings import Settings
from danlu.storage.locate import jobs_place
from danlu.storage.s3.answers import Unreachable
from danlu.taskdir.files import TaskDir, newest_attempt, raise_fence
from danlu.taskdir.handover import Handover, settings_to_hand_over
from danlu.taskdir.job_files import ObjectAccess, StoredJobFiles

log = logging.getLogger(__name__)


class Directories:
    """The task directories of all jobs in the object store of the cluster."""

    def __init__(self, settings: Settings) -> None:
        """Raise Refused if no store is set that every node reaches, or it is not writable."""
        self._place = jobs_place(settings)
        self._check()

    @property
    def canonical(self) -> str:
        """A text that is equal for all servers that store their jobs in this place."""
        return self._place.canonical

    def _check(self) -> None:
        """Write and delete a test object, so that wrong settings raise Refused at start."""
        key = f"{self._place.prefix}.danlu-write-check"
        try:
            self._place.storage.write(key, b"")
            self._place.storage.delete(key)
        except Unreachable as error:
            log.warning("store away place=%s error=%s", self._place.uri, error.message)
        except StorageError as error:
            raise Refused.from_key(
                "ray.store_unwritable", uri=self._place.uri, message=error.message, hint=error.hint
            ) from error

    def store(self, job_id: str) -> StoredJobFiles:
        return StoredJobFiles(self._place.storage, self._prefix(job_id))

    def snapshot(self, job_id: str) -> "ListingSnapshot":
        return ListingSnapshot(self._place.storage, self._prefix(job_id))

    def remove(self, job_id: str) -> None:
        """Remove every file of a job."""
        storage = self._place.storage
        for key, _ in list(storage.sizes(self._prefix(job_id) + "/")):
            storage.delete(key)

    def keepings(self, job_id: str = "") -> Sequence[KeptFilesStore]:
        """Return the kept files of a job, or of all jobs."""
        begin = self._prefix(job_id) + "/" if job_id else self._place.prefix
        cut = len(self._place.prefix)
        named = (parse_kept_name(key[cut:]) for key, _ in self._place.storage.sizes(begin))
        return [self._keeping(*name) for name in sorted(filter(None, named))]

    def _keeping(self, job_id: str, attempt: int, task: str) -> KeptFilesStore:
        files = TaskDir(self.store(job_id), attempt, task)
        key = f"{self._prefix(job_id)}/{files.folder}{FOLDER}"
        return KeptFilesStore(job_id, files, replace(self._place, key=key))

    def _prefix(self, job_id: str) -> str:
        if not job_id or job_id.startswith(".") or "/" in job_id or "\0" in job_id:
            raise ValueError(f"{job_id!r} is not the id of a job")
        return self._place.prefix + job_id


class ListingSnapshot(StoredJobFiles):
    """A job file store that lists each prefix only once. For short-lived readers."""

    def __init__(self, objects: ObjectAccess, prefix: str) -> None:
        super().__init__(objects, prefix)
        self._listed: dict[str, Sequence[tuple[str, int]]] = {}

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        if prefix not in self._listed:
            self._listed[prefix] = super().names(prefix)
        return self._listed[prefix]


@contextlib.contextmanager
def raise_unavailable() -> Iterator[None]:
    """Raise StorageError as Unavailable, on which the supervisor retries later."""
    try:
        yield
    except StorageError as error:
        raise Unavailable(error.message, hint=error.hint) from error


HEARTBEAT = 2.0  # seconds; a heartbeat costs three requests to the store
_RECENT = 2.0  # seconds for which the list of nodes is cached


@dataclasses.dataclass(frozen=True)
class RayTimeouts:
    """Seconds to wait in one call for capacity and for agent actors. The job retries anyway."""

    capacity: float = 0.0
    actors: float = 5.0


class RayExecutor:
    """Runs tasks on a Ray cluster. Safe to use from several threads."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        *,
        link: Link | None = None,
        timeouts: RayTimeouts = RayTimeouts(),  # noqa: B008 - frozen
        heartbeat: float = HEARTBEAT,
    ) -> None:
        """Raise Refused if the settings name no writable store that every node reaches."""
        self._settings = settings
        self._clock = clock
        self._timeouts = timeouts
        self._heartbeat = heartbeat
        self._directories = Directories(settings)
        scope = "danlu-" + hashlib.sha256(self._directories.canonical.encode()).hexdigest()[:12]
        self._link = link or Link(lambda: find_access(settings), scope)
        self._watching = RayTaskMonitor(self._link, self._files, clock)
        self._stopping = RayTaskStopper(self._link, self._watching, self._files, self._hosts, clock)
        self._begun: set[tuple[str, int, str]] = set()
        self._owed: set[str] = set()  # jobs with a reservation still to be released
        self._nodes: tuple[float, list[Node]] = (-_RECENT, [])
        self._starting = threading.Lock()

    def prepare(self) -> None:
        """Do nothing: agents run on nodes, where Ray starts the actors that hold them."""

    def revoke(self, job_id: str) -> bool:
        return True  # the server that takes the job over adopts these tasks

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
            self._timeouts.capacity + self._timeouts.actors + 30.0,
            job_id=job_id,
            tasks=[f"{role.name}-{index}" for role in roles for index in range(role.count)],
            bundles=bundles_of(roles),
            home=self._settings.node_home,
            isolated=self._settings.isolation != "none",
            capacity_timeout=self._timeouts.capacity,
            timeout=self._timeouts.actors,
        )
        if found["state"] != READY:
            pending = found["state"] == PENDING
            key = "ray.no_capacity" if pending else "ray.preparing"
            raise NoCapacity.from_key(key, job_id=job_id)
        if attempt is None:
            with raise_unavailable():
                attempt = newest_attempt(self._directories.store(job_id)) + 1
        return places_of(job_id, attempt, roles, found["places"])

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        with self._starting, raise_unavailable():
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
        with raise_unavailable():
            return self._watching.statuses(tasks)

    def files(self, job_id: str, attempt: int, task: str) -> TaskDir:
        return TaskDir(self._directories.snapshot(job_id), attempt, task)

    def keepings(self, job_id: str = "") -> Sequence[KeptFilesStore]:
        with raise_unavailable():
            return self._directories.keepings(job_id)

    def outputs_left(self, task: Task) -> Sequence[Unstored]:
        return ()  # they may be on the disk of a node that is gone

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        with raise_unavailable():
            self._watching.ask_holders(tasks)
            # A list, not a generator: every task must receive the stop request.
            return all([self._stopping.end(task, grace, why) for task in tasks])

    def release(self, job_id: str) -> None:
        """Release the reservation now, or as soon as the cluster answers."""
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
        return ()  # on the nodes; each agent removes its own

    def clear(self, job_id: str, *, everything: bool = False) -> None:
        if everything:
            self.release(job_id)
            with raise_unavailable():
                self._directories.remove(job_id)

    def _give_back(self) -> None:
        for job_id in list(self._owed):
            self._link.call("release", job_id=job_id)
            self._owed.discard(job_id)

    def _lay_down(self, task: Task, secrets: Mapping[str, str]) -> bool:
        """Write the plan of a task; return False if the task must not be started (again)."""
        store, files = self._directories.store(task.job_id), self._files(task)
        raise_fence(store, task.attempt)
        if newest_attempt(store) > task.attempt or files.agent() is not None:
            return False
        secrets_of(task, secrets)  # raises before anything is written
        if not files.is_planned():
            heartbeat = max(task.limits.heartbeat, self._heartbeat)
            limits = dataclasses.replace(task.limits, heartbeat=heartbeat)
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
        return TaskDir(self._directories.store(task.job_id), task.attempt, task.name)


def _key(task: Task) -> tuple[str, int, str]:
    return (task.job_id, task.attempt, task.name)
