"""The stored job: ids, history, and when it was last active."""

import re
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from danlu.job.definitions import Algorithm, Dataset
from danlu.job.plan import Task
from danlu.job.spec import JobSpec
from danlu.job.state import MOVES, JobState, Reason
from danlu.job.status import Progress, TaskStatus, Unstored

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ID = re.compile(r"[0-9a-z]{12}")
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, without ambiguous letters


def new_id(now: float | None = None) -> str:
    """Return an id of twelve characters that sorts by time of creation."""
    # 42 bits of milliseconds last until 2109; 18 random bits distinguish jobs of one millisecond.
    milliseconds = int((time.time() if now is None else now) * 1000)
    return _base32(milliseconds << 18 | secrets.randbits(18), 12)


def first_id(at: float) -> str:
    """Return an id that sorts after all jobs that were created before ``at``."""
    return _base32(int(max(at, 0) * 1000) << 18, 12)


def _base32(number: int, width: int) -> str:
    return "".join(_DIGITS[number >> 5 * place & 31] for place in reversed(range(width)))


@dataclass(frozen=True)
class Change:
    """One state change in the history of a job."""

    state: JobState
    at: float
    attempt: int
    reason: Reason | None = None


@dataclass(frozen=True)
class Job:
    """One job. ``version`` grows with every write. A write with an old version is rejected."""

    id: str
    name: str
    spec: JobSpec
    created: float
    request: Mapping[str, Any] = field(default_factory=dict)  # the original request, for a rerun
    state: JobState = JobState.QUEUED
    reason: Reason | None = None
    attempt: int = 1
    version: int = 0
    notes: tuple[str, ...] = ()  # differences from the request, reported at submission
    plan: tuple[Task, ...] = ()
    tasks: tuple[TaskStatus, ...] = ()  # last known status
    failed_task: str = ""  # the task that failed first
    detail: str = ""  # why the job ended, if no task could report it
    waits: str = ""  # why a queued job cannot start, except for a lack of capacity
    stop_requested: bool = False
    stop_grace: float | None = None  # seconds, if the user set it
    unstored: tuple[Unstored, ...] = ()  # outputs of any attempt that were not stored
    # Folders other than its outputs where any attempt replaced objects of earlier jobs.
    kept_at: tuple[str, ...] = ()
    stored_later: float = 0  # Unix time at which they were stored later
    not_before: float = 0  # Unix time until which a retry waits
    retried: Mapping[str, int] = field(default_factory=dict)  # reason -> number of retries
    # The task that was killed in the previous attempt -> the step it had reached.
    killed_at: Mapping[str, int] = field(default_factory=dict)
    parent: str = ""  # the job this one is a rerun of
    # If servers share the records: the server that accepted the job, and the one that runs it.
    accepted_by: str = ""
    runs_on: str = ""
    fence: int = 0  # fencing token of that server's lease at its last change of the job
    # Copies of what was used, so that a rerun is the same after their removal.
    algorithm: Algorithm | None = None
    datasets: Mapping[str, Dataset] = field(default_factory=dict)  # by URI as in the request
    history: tuple[Change, ...] = ()

    def moved(self, state: JobState, at: float, reason: Reason | None = None) -> "Job":
        """Return the job in a new state. Raises ValueError if ``MOVES`` does not allow it."""
        if state not in MOVES[self.state]:
            raise ValueError(f"no move from {self.state.value} to {state.value}")
        change = Change(state, at, self.attempt, reason)
        history = (*self.history, change)
        return replace(self, state=state, reason=reason, waits="", history=history)

    @property
    def ended(self) -> float | None:
        return self.history[-1].at if self.state.final and self.history else None

    @property
    def started(self) -> float | None:
        """Unix time at which the script of this attempt began to run; None before."""
        this = (change for change in self.history if change.attempt == self.attempt)
        return next((change.at for change in this if change.state is JobState.RUNNING), None)

    @property
    def first_started(self) -> float | None:
        """Unix time at which the first attempt was started; None before."""
        starts = (change.at for change in self.history if change.state is JobState.STARTING)
        return next(starts, None)


def idle_since(job: Job) -> float | None:
    """Return since when a running job is idle (Unix time), or None if it is not.

    A job is idle only if all its running tasks are, because a parameter server that waits for its
    workers is normally idle. A task counts as idle after ``Limits.still`` seconds.
    """
    if job.state is not JobState.RUNNING:
        return None
    found = last_active_task(
        (task.task, task.progress) for task in job.tasks if task.outcome is None
    )
    return found[0] if found is not None else None


def last_active_task(tasks: Iterable[tuple[str, Progress | None]]) -> tuple[float, str] | None:
    """Return the time at which the last of the tasks became idle, and its name.

    Return None while one of them is active.
    """
    stopped = [(progress.still_since if progress else None, name) for name, progress in tasks]
    known = [(since, name) for since, name in stopped if since is not None]
    return max(known) if known and len(known) == len(stopped) else None
