"""A fake executor for tests of the code above it. Tests control its tasks."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from danlu.errors import InvalidJob, NoCapacity
from danlu.executors.api import Capacity
from danlu.executors.kept_files import KeptFilesStore
from danlu.job.kept_files import FOLDER
from danlu.job.plan import Place, Role, Task
from danlu.job.state import Reason
from danlu.job.status import Failure, Kept, Outcome, TaskStatus, Unstored
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, file_uri
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles


@dataclass
class ClockworkExecutor:
    """An executor with a capacity of ``cpus`` that runs no processes.

    A started task runs until the test ends it or it is stopped. With ``stubborn``, tasks do not
    stop until the test changes it.
    """

    folder: Path
    cpus: float = 2
    gpus: tuple[str, ...] = ()
    stubborn: bool = False
    places: dict[str, Sequence[Place]] = field(default_factory=dict)
    tasks: dict[tuple[str, int, str], TaskStatus] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)  # job/attempt/task, in order, once each start
    secrets: dict[str, Mapping[str, str]] = field(default_factory=dict)
    cleared: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    graces: list[float] = field(default_factory=list)  # of each call of stop
    left: list[Unstored] = field(default_factory=list)  # result of outputs_left for every task
    _ticks: "itertools.count[int]" = field(default_factory=itertools.count)

    def prepare(self) -> None:
        """Do nothing."""

    def capacity(self) -> Capacity:
        return Capacity(cpus=self.cpus, memory=0, gpus=self.gpus)

    def place(self, job_id: str, roles: Sequence[Role]) -> Sequence[Place]:
        if _cpus(roles) > self.cpus:
            raise InvalidJob([("nodes", f"{_cpus(roles):g} cores asked, {self.cpus:g} there.")])
        return [
            Place(role.name, index, cpus=role.cpus, decides=role.decides)
            for role in roles
            for index in range(role.count)
        ]

    def reserve(
        self, job_id: str, roles: Sequence[Role], attempt: int | None = None
    ) -> Sequence[Place]:
        if job_id not in self.places:
            used = sum(place.cpus for held in self.places.values() for place in held)
            if used + _cpus(roles) > self.cpus:
                raise NoCapacity("no capacity")
            self.places[job_id] = self.place(job_id, roles)
        return self.places[job_id]

    def start(self, job_id: str, tasks: Sequence[Task], secrets: Mapping[str, str]) -> None:
        self.secrets[job_id] = dict(secrets)
        for task in tasks:
            key = (job_id, task.attempt, task.name)
            if key not in self.tasks:
                place = task.place
                self.tasks[key] = TaskStatus(
                    place.role, place.index, decides=place.decides, claimed=True
                )
                self.started.append("/".join(map(str, key)))

    def poll(self, job_id: str, tasks: Sequence[Task]) -> Sequence[TaskStatus]:
        return [
            self.tasks.get((job_id, task.attempt, task.name)) or _unseen(task) for task in tasks
        ]

    def files(self, job_id: str, attempt: int, task: str) -> TaskDir:
        return TaskDir(LocalJobFiles(self.folder / job_id), attempt, task)

    def keepings(self, job_id: str = "") -> Sequence[KeptFilesStore]:
        at = sorted(path.parent for path in self.folder.glob(f"{job_id or '*'}/*/*/kept.json"))
        return [
            KeptFilesStore(
                path.parts[-3],
                self.files(path.parts[-3], int(path.parts[-2]), path.parts[-1]),
                Location(FileStorage(path / FOLDER, plain=True), "", file_uri(path)),
            )
            for path in at
        ]

    def outputs_left(self, task: Task) -> Sequence[Unstored]:
        return self.left

    def stop(self, job_id: str, tasks: Sequence[Task], *, grace: float, why: str = "") -> bool:
        self.graces.append(grace)
        for task in tasks:
            key = (job_id, task.attempt, task.name)
            known = self.tasks.get(key)
            if known is not None and known.outcome is None and not known.lost:
                if self.stubborn:
                    return False
                self.end(*key, reason=Reason.ENDED_WITH_JOB if why else Reason.STOPPED_BY_USER)
        return True

    def release(self, job_id: str) -> None:
        self.places.pop(job_id, None)

    def held(self) -> Sequence[str]:
        return list(self.places)

    def scratch(self) -> Sequence[str]:
        return sorted({job_id for job_id, _, _ in self.tasks} - set(self.cleared))

    def clear(self, job_id: str, *, everything: bool = False) -> None:
        if everything:
            self.release(job_id)
        (self.removed if everything else self.cleared).append(job_id)

    def revoke(self, job_id: str) -> bool:
        self.revoked.append(job_id)
        return True

    def close(self) -> None:
        pass

    # Methods for tests.

    def end(
        self,
        job_id: str,
        attempt: int,
        task: str,
        *,
        reason: Reason = Reason.DONE,
        failure: Failure | None = None,
        stored: bool = True,
        unstored: tuple[Unstored, ...] = (),
        kept: Kept | None = None,
    ) -> None:
        outcome = Outcome(
            *(attempt, reason, 0, float(next(self._ticks)), failure),
            stored=stored and not unstored,
            unstored=unstored,
            kept=kept,
        )
        key = (job_id, attempt, task)
        self.tasks[key] = replace(self.tasks[key], outcome=outcome)

    def lose(self, job_id: str, attempt: int, task: str) -> None:
        key = (job_id, attempt, task)
        self.tasks[key] = replace(self.tasks[key], lost=True)


def _cpus(roles: Sequence[Role]) -> float:
    return sum(role.cpus * role.count for role in roles)


def _unseen(task: Task) -> TaskStatus:
    return TaskStatus(task.place.role, task.place.index, decides=task.place.decides)
