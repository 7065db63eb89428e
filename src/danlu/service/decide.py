"""The next move of a job, from what is known of its tasks. Pure: its test is a table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from danlu.job.job import Job
from danlu.job.state import JobState, Reason
from danlu.job.status import Outcome, TaskStatus
from danlu.job.stillness import still_since

_NOTICE = 3.0  # seconds between two agents' words of one event


@dataclass(frozen=True)
class Move:
    state: JobState
    reason: Reason | None = None
    failed_task: str = ""


def decide(
    job: Job,
    tasks: Sequence[TaskStatus],
    *,
    timeout: float,
    gone: bool,
    end_hung: bool = False,
) -> Move | None:
    """Return the next move of a job that holds its places, or None to wait.

    ``gone``: every process of its tasks is known to be gone. Tasks that do not decide (parameter
    servers) never end by themselves: a job is done when the others are. ``end_hung``: a job of
    which nothing moves is ended, not only told of.
    """
    if job.state is JobState.STOPPING:
        known = replace(_with_cause(job, tasks), tasks=tuple(tasks))
        return _after_stopping(known) if gone else None
    if job.stop_requested and not _done(tasks):
        return Move(JobState.STOPPING, Reason.STOPPED_BY_USER)
    # A parameter server that fails when its workers are done has failed nobody.
    failed = None if _done(tasks) else _first_failure(tasks, timeout)
    if failed is not None:
        return failed
    if job.state is JobState.STARTING:
        reported = bool(tasks) and all(task.claimed for task in tasks)
        return Move(JobState.RUNNING) if reported else None
    if not _done(tasks):
        hangs = end_hung and still_since(replace(job, tasks=tuple(tasks))) is not None
        return Move(JobState.STOPPING, Reason.HUNG) if hangs else None
    everyone = all(task.outcome for task in tasks)
    return Move(JobState.SUCCEEDED if everyone else JobState.STOPPING, Reason.DONE)


def _done(tasks: Sequence[TaskStatus]) -> bool:
    outcomes = [task.outcome for task in tasks if task.decides]
    return bool(outcomes) and all(o is not None and o.reason is Reason.DONE for o in outcomes)


def _first_failure(tasks: Sequence[TaskStatus], timeout: float) -> Move | None:
    """Return the cause: what failed first; the others fail because it is gone.

    A task that is lost could not say when: no script that failed by itself comes before it.
    """
    first = _cause(tasks)
    lost = next((task for task in tasks if task.outcome is None and task.lost), None)
    if lost is not None and (first is None or first.reason is Reason.SCRIPT_FAILED):
        return Move(JobState.STOPPING, Reason.AGENT_LOST, lost.task)
    if first is not None:
        return first
    for task in tasks:
        if task.outcome is None and task.silent > timeout:
            return Move(JobState.STOPPING, Reason.AGENT_LOST, task.task)
    return None


def _cause(tasks: Sequence[TaskStatus]) -> Move | None:
    ended = [
        (_moment(task.outcome), task.outcome.reason, task.task)
        for task in tasks
        if task.outcome and task.outcome.reason is not Reason.DONE
    ]
    if not ended:
        return None
    _, reason, name = min(ended, key=lambda each: each[0])
    return Move(JobState.STOPPING, reason, name)


def _moment(outcome: Outcome) -> float:
    """Return when a task ended, for a comparison with its peers.

    A script fails because its peer is gone, and may be seen to a little earlier than the peer.
    """
    late = 0 if outcome.reason is Reason.SCRIPT_FAILED else _NOTICE
    return outcome.ended - late


def _with_cause(job: Job, tasks: Sequence[TaskStatus]) -> Job:
    """Return the job with what its tasks have said since it was stopped.

    The task that failed first may be the last to say so: it had more outputs to store.
    """
    own = [t for t in tasks if t.outcome and t.outcome.reason is not Reason.ENDED_WITH_JOB]
    cause = _cause(own)
    if cause is None or job.reason is not Reason.SCRIPT_FAILED:
        return job
    return replace(job, reason=cause.reason, failed_task=cause.failed_task)


def _after_stopping(job: Job) -> Move:
    reason = job.reason
    if reason is Reason.DONE:
        return Move(JobState.SUCCEEDED, reason)
    if job.stop_requested or reason is Reason.STOPPED_BY_USER:
        return Move(JobState.STOPPED, Reason.STOPPED_BY_USER)
    if job.killed_at and killed_at(job) == job.killed_at:
        return Move(JobState.FAILED, Reason.KILLED_AGAIN, job.failed_task)
    if reason is not None and may_retry(job, reason):
        return Move(JobState.QUEUED, reason, job.failed_task)
    return Move(JobState.FAILED, reason, job.failed_task)


def killed_at(job: Job) -> dict[str, int]:
    """Return which task of a job was killed and the step it had come to; empty: none, or no step.

    A task that made no step in this attempt tells nothing: its machine may have been taken back
    while it began.
    """
    if job.reason is not Reason.KILLED:
        return {}
    task = next((task for task in job.tasks if task.task == job.failed_task), None)
    steps = task.progress.steps if task is not None and task.progress is not None else None
    return {} if steps is None else {job.failed_task: steps.step}


def may_retry(job: Job, reason: Reason) -> bool:
    """Tell whether a job that ended for ``reason`` has a try left, for it and in all."""
    tried = job.retried.get(reason.value, 0)
    return tried < reason.retries(job.spec.retries) and job.attempt <= job.spec.retries
