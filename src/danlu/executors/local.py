"""The executor that runs tasks as processes of this machine, one agent each.

Reservations and running tasks are recorded on disk. A new executor with the same home continues
where a killed one stopped. Protocol: docs/design/task-directory.md
"""

import contextlib
import dataclasses
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from danlu.errors import ExecutorError, InvalidJob, NoCapacity, Unavailable
from danlu.executors import disk_space
from danlu.executors.agents import AGENT, FORK_SERVER, Agents
from danlu.executors.api import Capacity
from danlu.executors.kept_files import KeptFilesStore
from danlu.executors.machine import (
    PROBE,
    CachedProbe,
    Ports,
    Reservations,
    allocate,
    faults,
    left,
    machine_capacity,
)
from danlu.executors.task_monitor import LocalTaskStopper, TaskMonitor
from danlu.executors.warm_pool import WarmPool
from danlu.job.kept_files import FOLDER
from danlu.job.plan import Isolation, Place, Role, Task
from danlu.job.status import TaskStatus, Unstored
from danlu.settings import Settings
from danlu.storage.folders import DISK_FULL, remove_tree, walk
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, file_uri
from danlu.taskdir.files import TaskDir, newest_attempt, raise_fence, tasks_of
from danlu.taskdir.job_files import LocalJobFiles


def secrets_of(task: Task, secrets: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of a job that a task needs.

    Raises:
        ExecutorError: a secret is missing.
    """
    missing = [name for name in task.secrets if name not in secrets]
    if missing:
        raise ExecutorError.from_key(
            "task.no_secrets", name=task.name, job_id=task.job_id, missing=", ".join(missing)
        )
    return {name: secrets[name] for name in task.secrets}


log = logging.getLogger(__name__)


class Trash:
    """Deletes folders in a background thread. Safe to use from several threads.

    The next process deletes what a killed process left in ``bin``.
    """

    def __init__(self, bin: Path) -> None:
        self._bin = bin
        self._lock = threading.Lock()
        self._more = threading.Event()
        self._thread: threading.Thread | None = None
        if bin.is_dir():
            self._start()

    def discard(self, folder: Path) -> None:
        """Delete a folder. A missing folder is no error."""
        try:
            self._bin.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.rename(folder, self._bin / f"{folder.name}-{secrets.token_hex(4)}")
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            remove_tree(folder)  # The disk is too full for a rename. Free the space at once.
            return
        self._start()

    def wait(self, seconds: float) -> None:
        """Wait at most ``seconds`` until everything taken so far is deleted."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _start(self) -> None:
        with self._lock:
            self._more.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._empty, name="trash", daemon=True)
                self._thread.start()

    def _empty(self) -> None:
        while True:
            with self._lock:
                if not self._more.is_set():
                    self._thread = None
                    return
                self._more.clear()
            for folder in self._folders():
                try:
                    remove_tree(folder)
                except OSError as error:
                    log.warning("not removed folder=%s error=%s", folder, error)

    def _folders(self) -> list[Path]:
        try:
            return list(self._bin.iterdir())
        except OSError as error:  # e.g. the user removed it to free disk space
            log.warning("not listed folder=%s error=%s", self._bin, error)
            return []


_TRASH_TIMEOUT = 30.0  # seconds


class LocalExecutor:
    """Runs tasks on this machine. Safe to use from several threads.

    Calls ``wake`` when an agent has exited.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] = time.monotonic,
        wake: Callable[[], None] | None = None,
        *,
        agent_command: Sequence[str] = AGENT,
        probe_command: Sequence[str] = PROBE,
        fork_server_command: Sequence[str] = FORK_SERVER,
        waiting: WarmPool | None = None,
    ) -> None:
        self._settings = settings
        self._probed = CachedProbe(settings.work, probe_command, clock)
        self._lock = threading.RLock()
        self._capacity = machine_capacity(settings)
        self._reservations = Reservations(settings.home / "places")
        self._ports = Ports()
        self._ports.keep(_ports_of(self._reservations.places()))
        self._trash = Trash(settings.home / "rubbish")
        self._agents = Agents(
            settings.home, agent_command, wake or (lambda: None), fork_server_command
        )
        self._watches = TaskMonitor(self._agents, clock)
        self._stopping = LocalTaskStopper(self._agents, self._watches, clock)
        self._waiting = waiting

    def prepare(self) -> None:
        with self._lock:
            self._agents.prepare()
            with contextlib.suppress(Unavailable, OSError):
                self._isolation()

    def capacity(self) -> Capacity:
        return self._capacity

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        places = allocate(roles, self._capacity)
        if places is None:
            raise InvalidJob(faults(roles, self._capacity))
        with self._lock:
            self._agents.prepare()  # A plan is usually followed by a submission.
            introduced = self._introduce(places)
            self._ports.drop(_ports_of(introduced))
            return self._with_isolation(job_id, introduced)

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        with self._lock:
            held = self._reservations.of(job_id)
            if held is None:
                held = self._introduce(self._find_capacity(_checked(job_id), roles))
                try:
                    self._reservations.hold(job_id, held)
                except OSError:
                    self._ports.drop(_ports_of(held))
                    raise
                log.info("reserve job=%s tasks=%s", job_id, len(held))
            return self._with_isolation(job_id, held, attempt)

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        with self._lock:
            for task in tasks:
                self._start(job_id, task, secrets)

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        with self._lock:
            return [self._watches.status(task, self._files(job_id, task)) for task in tasks]

    def files(self, job_id: str, attempt: int, task: str) -> TaskDir:
        return TaskDir(self._job_files(job_id), attempt, task)

    def keepings(self, job_id: str = "") -> Sequence[KeptFilesStore]:
        names = self._settings.jobs.glob(f"{_checked(job_id) if job_id else '[!.]*'}/*/*/kept.json")
        at = sorted(names, key=lambda path: (path.parts[-4], int(path.parts[-3]), path.parts[-2]))
        return [self._keeping(path.parent) for path in at]

    def _keeping(self, folder: Path) -> KeptFilesStore:
        job_id, attempt, task = folder.parts[-3:]
        files = self.files(job_id, int(attempt), task)
        storage = FileStorage(folder / FOLDER, plain=True)
        return KeptFilesStore(job_id, files, Location(storage, "", file_uri(folder / FOLDER)))

    def outputs_left(self, task: Task) -> Sequence[Unstored]:
        root = task.place.root or str(
            self._workspace(task.job_id, task.attempt, task.name) / "root"
        )
        at = {item: root + item.path.removeprefix(root) for item in task.command.push}
        return [
            Unstored(task.name, item.what, item.uri, path, item.pack)
            for item, path in at.items()
            if any(files for _, _, files in walk(path))
        ]

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        with self._lock:
            # A list, not a generator: every task must receive the stop request.
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
                self._waiting.reconcile()

    def held(self) -> Sequence[str]:
        with self._lock:
            return self._reservations.jobs()

    def scratch(self) -> Sequence[str]:
        return [path.name for path in self._settings.work.glob("[!.]*") if path.is_dir()]

    def clear(self, job_id: str, *, everything: bool = False) -> None:
        if not everything:
            self._trash.discard(self._settings.work / _checked(job_id))
            return
        self.release(job_id)
        for folder in (self._settings.work, self._settings.jobs):
            self._trash.discard(folder / _checked(job_id))
        try:
            disk_space.require_free_space(self._settings.home)
        except OSError:
            self._trash.wait(_TRASH_TIMEOUT)  # The caller needs the disk space.

    def revoke(self, job_id: str) -> bool:
        store = self._job_files(job_id)
        attempts = {int(name.split("/")[0]) for name, _ in store.names("") if "/plan.json" in name}
        if not attempts:
            return True
        # A fenced agent exits at once. The other server now owns the outputs it would upload.
        raise_fence(store, max(attempts) + 1)
        files = [TaskDir(store, n, task) for n in attempts for task in tasks_of(store, n)]
        plans = [(found.plan(), found) for found in files]
        with self._lock:
            return all(
                [self._stopping.end(task, found, 0.0, "moved") for task, found in plans if task]
            )

    def close(self) -> None:
        """Close the warm pool. Agents continue, and all other state is on disk."""
        if self._waiting is not None:
            self._waiting.close()

    def _start(self, job_id: str, task: Task, secrets: Mapping[str, str]) -> None:
        store, files = self._job_files(job_id), self._files(job_id, task)
        raise_fence(store, task.attempt)
        if newest_attempt(store) > task.attempt or files.agent() is not None:
            return
        if self._agents.has_started(task):
            return  # starting, or exited without a claim: poll() reports which
        disk_space.require_free_space(self._settings.home)
        files.write_plan(task, secrets_of(task, secrets))
        self._watches.began(task)
        self._agents.start(task, self._workspace(job_id, task.attempt, task.name))

    def _find_capacity(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        free = left(self._capacity, self._reservations.places())
        places = allocate(roles, free)
        if places is None:
            raise NoCapacity.from_key(
                "capacity.not_free",
                job_id=job_id,
                cpus=free.cpus,
                memory=free.memory >> 20,
                gpus=len(free.gpus),
            )
        return places

    def _introduce(self, places: Sequence[Place]) -> Sequence[Place]:
        """Return the allocations with a port and the addresses of all peers."""
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

    def _with_isolation(
        self, job_id: str, places: Sequence[Place], attempt: int | None = None
    ) -> Sequence[Place]:
        """Return the allocations with the isolation and the root of the coming attempt.

        Each task has its own workspace.
        """
        attempt = attempt or newest_attempt(self._job_files(job_id)) + 1
        isolation = self._isolation()
        found = []
        for place in places:
            workspace = self._workspace(job_id, attempt, place.task)
            root = "" if isolation.private_paths else str(workspace / "root")
            found.append(dataclasses.replace(place, isolation=isolation, root=root))
        return found

    def _isolation(self) -> Isolation:
        return Isolation() if self._settings.isolation == "none" else self._probed.get()

    def _workspace(self, job_id: str, attempt: int, task: str) -> Path:
        return self._settings.work / _checked(job_id) / str(attempt) / task

    def _job_files(self, job_id: str) -> LocalJobFiles:
        return LocalJobFiles(self._settings.jobs / _checked(job_id))

    def _files(self, job_id: str, task: Task) -> TaskDir:
        return self.files(job_id, task.attempt, task.name)


def _ports_of(places: Iterable[Place]) -> list[int]:
    return [place.port for place in places if place.port]


def _checked(job_id: str) -> str:
    """Return ``job_id`` if it is safe as the name of a folder; raise ValueError if not."""
    if not job_id or job_id.startswith(".") or "/" in job_id or "\0" in job_id:
        raise ValueError(f"{job_id!r} is not the id of a job")
    return job_id
