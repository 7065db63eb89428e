"""An executor whose tasks do what a test says, in no time: for what is decided above it."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from danlu.errors import InvalidJob, NoCapacity
from danlu.executors.api import Capacity
from danlu.job.curves import Curves
from danlu.job.plan import Place, Role, Task
from danlu.job.state import Reason
from danlu.job.status import Failure, Outcome, TaskStatus
from danlu.job.translation import Translation
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.log import LogReader


@dataclass
class ClockworkExecutor:
    """Room for ``cpus``; a started task lives until the test ends it, or until it is stopped.

    ``stubborn`` tasks outlive a stop until the test says otherwise.
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
    forsaken: list[str] = field(default_factory=list)
    graces: list[float] = field(default_factory=list)  # of each stop
    _ticks: "itertools.count[int]" = field(default_factory=itertools.count)

    def prepare(self) -> None:
        """Nothing takes any time here."""

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
                raise NoCapacity("no room")
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

    def logs(self, job_id: str, attempt: int, task: str) -> LogReader:
        return self.files(job_id, attempt, task).log_reader()

    def translation(self, job_id: str, attempt: int, task: str) -> Translation:
        return self.files(job_id, attempt, task).translation()

    def curves(self, job_id: str, attempt: int, task: str) -> Curves:
        return self.files(job_id, attempt, task).curves()

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

    def clear(self, job_id: str) -> None:
        self.cleared.append(job_id)

    def remove(self, job_id: str) -> None:
        self.removed.append(job_id)

    def forsake(self, job_id: str) -> bool:
        self.forsaken.append(job_id)
        return True

    def close(self) -> None:
        pass

    # What a test does.

    def end(
        self,
        job_id: str,
        attempt: int,
        task: str,
        *,
        reason: Reason = Reason.DONE,
        failure: Failure | None = None,
    ) -> None:
        outcome = Outcome(attempt, reason, 0, float(next(self._ticks)), failure)
        key = (job_id, attempt, task)
        self.tasks[key] = replace(self.tasks[key], outcome=outcome)

    def lose(self, job_id: str, attempt: int, task: str) -> None:
        key = (job_id, attempt, task)
        self.tasks[key] = replace(self.tasks[key], lost=True)

    def files(self, job_id: str, attempt: int, task: str) -> TaskDir:
        return TaskDir(FileCarrier(self.folder / job_id), attempt, task)


def _cpus(roles: Sequence[Role]) -> float:
    return sum(role.cpus * role.count for role in roles)


def _unseen(task: Task) -> TaskStatus:
    return TaskStatus(task.place.role, task.place.index, decides=task.place.decides)
