"""What the platform answers about a job, beside the job itself."""

from dataclasses import dataclass

from danlu.job.curves import Curves
from danlu.job.job import Job
from danlu.job.plan import Task
from danlu.job.translation import Translation


@dataclass(frozen=True)
class Planned:
    """What a job would be; nothing of it was kept."""

    job: Job
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Translated:
    """What the code of a job needed in one attempt; more may follow while the job lives."""

    job: Job
    attempt: int
    translation: Translation


@dataclass(frozen=True)
class Drawn:
    """The curves of a job in one attempt; more may follow while the job lives."""

    job: Job
    attempt: int
    curves: Curves
