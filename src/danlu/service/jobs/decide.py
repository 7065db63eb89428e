"""The state transitions of a job, decided from the status of its tasks, and the retry policy.

The functions are pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from danlu.job.job import Job, idle_since
from danlu.job.state import JobState, Reason
from danlu.job.status import Outcome, TaskStatus

_NOTICE = 3.0  # seconds by which the reports of two agents on one event may differ


@dataclass(frozen=True)
class StateTransition:
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
) -> StateTransition | None:
    """Return the next state transition of a job that holds a reservation, or None to wait.

    ``gone``: every process of its tasks is known to be gone. Tasks that do not decide (parameter
    servers) never end by themselves; a job is done when the other tasks are. ``end_hung``: stop a
    job without activity instead of only reporting the hang.
    """
    if job.state is JobState.STOPPING:
        known = replace(_with_cause(job, tasks), tasks=tuple(tasks))
        return _after_stopping(known) if gone else None
    if job.stop_requested and not _done(tasks):
        return StateTransition(JobState.STOPPING, Reason.STOPPED_BY_USER)
    # A parameter server that fails after its workers are done does not fail the job.
    failed = None if _done(tasks) else _first_failure(tasks, timeout)
    if failed is not None:
        return failed
    if job.state is JobState.STARTING:
        reported = bool(tasks) and all(task.claimed for task in tasks)
        return StateTransition(JobState.RUNNING) if reported else None
    if not _done(tasks):
        hangs = end_hung and idle_since(replace(job, tasks=tuple(tasks))) is not None
        return StateTransition(JobState.STOPPING, Reason.HUNG) if hangs else None
    everyone = all(task.outcome for task in tasks)
    return StateTransition(JobState.SUCCEEDED if everyone else JobState.STOPPING, Reason.DONE)


def _done(tasks: Sequence[TaskStatus]) -> bool:
    outcomes = [task.outcome for task in tasks if task.decides]
    return bool(outcomes) and all(o is not None and o.reason is Reason.DONE for o in outcomes)


def _first_failure(tasks: Sequence[TaskStatus], timeout: float) -> StateTransition | None:
    """Return the transition for the task that failed first; other tasks fail as a consequence.

    The time at which a lost task failed is unknown. It takes precedence over failed scripts.
    """
    first = _cause(tasks)
    lost = next((task for task in tasks if task.outcome is None and task.lost), None)
    if lost is not None and (first is None or first.reason is Reason.SCRIPT_FAILED):
        return StateTransition(JobState.STOPPING, Reason.AGENT_LOST, lost.task)
    if first is not None:
        return first
    for task in tasks:
        if task.outcome is None and task.silent > timeout:
            return StateTransition(JobState.STOPPING, Reason.AGENT_LOST, task.task)
    return None


def _cause(tasks: Sequence[TaskStatus]) -> StateTransition | None:
    ended = [
        (_moment(task.outcome), task.outcome.reason, task.task)
        for task in tasks
        if task.outcome and task.outcome.reason is not Reason.DONE
    ]
    if not ended:
        return None
    _, reason, name = min(ended, key=lambda each: each[0])
    return StateTransition(JobState.STOPPING, reason, name)


def _moment(outcome: Outcome) -> float:
    """Return the time at which a task ended, for comparison with its peers.

    A script that fails because its peer is gone may be reported slightly before the peer. Other
    failures therefore count as ``_NOTICE`` seconds earlier.
    """
    late = 0 if outcome.reason is Reason.SCRIPT_FAILED else _NOTICE
    return outcome.ended - late


def _with_cause(job: Job, tasks: Sequence[TaskStatus]) -> Job:
    """Return the job with the cause that its tasks have reported since it was stopped.

    The task that failed first may report last, because it had more outputs to store.
    """
    own = [t for t in tasks if t.outcome and t.outcome.reason is not Reason.ENDED_WITH_JOB]
    cause = _cause(own)
    if cause is None or job.reason is not Reason.SCRIPT_FAILED:
        return job
    return replace(job, reason=cause.reason, failed_task=cause.failed_task)


def _after_stopping(job: Job) -> StateTransition:
    reason = job.reason
    if reason is Reason.DONE:
        return StateTransition(JobState.SUCCEEDED, reason)
    if job.stop_requested or reason is Reason.STOPPED_BY_USER:
        return StateTransition(JobState.STOPPED, Reason.STOPPED_BY_USER)
    if job.killed_at and killed_at(job) == job.killed_at:
        return StateTransition(JobState.FAILED, Reason.KILLED_AGAIN, job.failed_task)
    if reason is not None and may_retry(job, reason):
        return StateTransition(JobState.QUEUED, reason, job.failed_task)
    return StateTransition(JobState.FAILED, reason, job.failed_task)


def killed_at(job: Job) -> dict[str, int]:
    """Return the task of a job that was killed, mapped to its last step.

    The mapping is empty if no task was killed or the task made no step in this attempt. Without
    a step nothing is known: the machine may have been reclaimed while the task started.
    """
    if job.reason is not Reason.KILLED:
        return {}
    task = next((task for task in job.tasks if task.task == job.failed_task), None)
    steps = task.progress.steps if task is not None and task.progress is not None else None
    return {} if steps is None else {job.failed_task: steps.step}


def may_retry(job: Job, reason: Reason) -> bool:
    """Return True if a job has a retry left, both for ``reason`` and in total."""
    tried = job.retried.get(reason.value, 0)
    return tried < reason.retries(job.spec.retries) and job.attempt <= job.spec.retries


MAX_DELAY = 300.0  # seconds
_DOUBLINGS = 32  # enough to exceed MAX_DELAY; 2.0 ** 1024 raises OverflowError


def retry_delay(job: Job, first: float) -> float:
    """Return the seconds between the previous attempt of a job and the next one.

    The delay doubles with each attempt, up to ``MAX_DELAY``, to spare a machine on which nothing
    runs. An attempt that ran longer than ``MAX_DELAY`` shows that the machine works and resets the
    delay to ``first``.
    """
    ran = _running_times(job)
    quick = 0
    while quick < job.attempt - 1 and ran.get(job.attempt - 1 - quick, 0.0) <= MAX_DELAY:
        quick += 1
    return min(first * 2.0 ** min(max(quick - 1, 0), _DOUBLINGS), MAX_DELAY)


def _running_times(job: Job) -> dict[int, float]:
    """Return the seconds each attempt ran, in wall-clock time."""
    return {
        began.attempt: ended.at - began.at
        for began, ended in pairwise(job.history)
        if began.state is JobState.RUNNING
    }
