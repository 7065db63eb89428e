"""The next move of a job, from what is known of its tasks. Pure: its test is a table."""

from collections.abc import Sequence
from dataclasses import dataclass

from danlu.job.job import Job
from danlu.job.state import JobState, Reason
from danlu.job.status import TaskStatus


@dataclass(frozen=True)
class Move:
    state: JobState
    reason: Reason | None = None
    failed_task: str = ""


def decide(job: Job, tasks: Sequence[TaskStatus], *, timeout: float, gone: bool) -> Move | None:
    """Return the next move of a job that holds its places, or None to wait.

    ``gone``: every process of its tasks is known to be gone. Tasks that do not decide (parameter
    servers) never end by themselves: a job is done when the others are.
    """
    if job.state is JobState.STOPPING:
        return _after_stopping(job) if gone else None
    if job.stop_requested and not _done(tasks):
        return Move(JobState.STOPPING, Reason.STOPPED_BY_USER)
    failed = _first_failure(tasks, timeout)
    if failed is not None:
        return failed
    if job.state is JobState.STARTING:
        reported = bool(tasks) and all(task.claimed for task in tasks)
        return Move(JobState.RUNNING) if reported else None
    if not _done(tasks):
        return None
    everyone = all(task.outcome for task in tasks)
    return Move(JobState.SUCCEEDED if everyone else JobState.STOPPING, Reason.DONE)


def _done(tasks: Sequence[TaskStatus]) -> bool:
    outcomes = [task.outcome for task in tasks if task.decides]
    return bool(outcomes) and all(o is not None and o.reason is Reason.DONE for o in outcomes)


def _first_failure(tasks: Sequence[TaskStatus], timeout: float) -> Move | None:
    failed = [task for task in tasks if task.outcome and task.outcome.reason is not Reason.DONE]
    if failed:
        # The one that failed first is the cause; its peers fail because it is gone.
        first = min(failed, key=lambda task: task.outcome.ended if task.outcome else 0)
        reason = first.outcome.reason if first.outcome else None
        return Move(JobState.STOPPING, reason, first.task)
    for task in tasks:
        if task.outcome is None and (task.lost or task.silent > timeout):
            return Move(JobState.STOPPING, Reason.AGENT_LOST, task.task)
    return None


def _after_stopping(job: Job) -> Move:
    reason = job.reason
    if reason is Reason.DONE:
        return Move(JobState.SUCCEEDED, reason)
    if job.stop_requested or reason is Reason.STOPPED_BY_USER:
        return Move(JobState.STOPPED, Reason.STOPPED_BY_USER)
    if reason is not None and may_retry(job, reason):
        return Move(JobState.QUEUED, reason)
    return Move(JobState.FAILED, reason)


def may_retry(job: Job, reason: Reason) -> bool:
    """Tell whether a job that ended for ``reason`` has a try left, for it and in all."""
    tried = job.retried.get(reason.value, 0)
    return tried < reason.retries(job.spec.retries) and job.attempt <= job.spec.retries
