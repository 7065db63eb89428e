"""A job as it is remembered."""

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from danlu.job.algorithm import Algorithm
from danlu.job.dataset import Dataset
from danlu.job.plan import Task
from danlu.job.spec import JobSpec
from danlu.job.state import MOVES, JobState, Reason
from danlu.job.status import TaskStatus

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ID = re.compile(r"[0-9a-z]{12}")
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing to misread


def new_id(now: float | None = None) -> str:
    """Return an id of twelve characters that sorts by time of creation."""
    # 42 bits of milliseconds last until 2109; 18 random ones tell jobs of one millisecond apart.
    milliseconds = int((time.time() if now is None else now) * 1000)
    return _base32(milliseconds << 18 | secrets.randbits(18), 12)


def first_id(at: float) -> str:
    """Return what sorts after the ids of all jobs that were created before ``at``."""
    return _base32(int(max(at, 0) * 1000) << 18, 12)


def _base32(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(width)))


@dataclass(frozen=True)
class Change:
    """One move of a job, for its history."""

    state: JobState
    at: float
    attempt: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Job:
    """One job. ``version`` grows with every write: a write with an old one is refused."""

    id: str
    name: str
    spec: JobSpec
    created: float
    request: Mapping[str, Any] = field(default_factory=dict)  # as it was asked for, to ask again
    state: JobState = JobState.QUEUED
    reason: Reason | None = None
    attempt: int = 1
    version: int = 0
    notes: tuple[str, ...] = ()  # what we did other than asked, said at submit
    plan: tuple[Task, ...] = ()
    tasks: tuple[TaskStatus, ...] = ()  # as last seen
    failed_task: str = ""  # the one that failed first
    detail: str = ""  # what the platform has to say of the end, where no task could
    stop_requested: bool = False
    stop_grace: float | None = None  # seconds, where the user said
    not_before: float = 0  # a retry waits until then
    retried: Mapping[str, int] = field(default_factory=dict)  # reason -> how often
    # The task that was killed in the attempt before this one, and the step it had come to.
    killed_at: Mapping[str, int] = field(default_factory=dict)
    parent: str = ""  # the job this one is a rerun of
    # Where several servers share the records: who took the job in, whose machine runs its tasks.
    accepted_by: str = ""
    runs_on: str = ""
    fence: int = 0  # of that server's lease, when it last moved the job
    # Copies of what was used, so that a rerun means the same when they are no more.
    algorithm: Algorithm | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)  # by URI as it was asked for
    history: tuple[Change, ...] = ()

    def moved(self, state: JobState, at: float, reason: Reason | None = None) -> "Job":
        """Return the job after a move of the table; any other is a fault of ours."""
        if state not in MOVES[self.state]:
            raise ValueError(f"no move from {self.state.value} to {state.value}")
        change = Change(state, at, self.attempt, reason)
        return replace(self, state=state, reason=reason, history=(*self.history, change))

    @property
    def ended(self) -> float | None:
        return self.history[-1].at if self.state.final and self.history else None

    @property
    def started(self) -> float | None:
        """When the script of this attempt began to run."""
        this = (change for change in self.history if change.attempt == self.attempt)
        return next((change.at for change in this if change.state is JobState.RUNNING), None)
