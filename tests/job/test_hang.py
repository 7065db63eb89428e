import pytest

from danlu.job.job import Job, idle_since
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Outcome, Progress, TaskStatus

SPEC = JobSpec(name="n", dialect="modelarts", code="obs://b/c", entry="t.py")


def task(role, index, since=None, *, ended=False):
    outcome = Outcome(1, Reason.DONE, 0, 1.0) if ended else None
    progress = Progress(still_since=since)
    return TaskStatus(role, index, decides=role != "ps", progress=progress, outcome=outcome)


@pytest.mark.parametrize(
    ("tasks", "since"),
    [
        ([task("worker", 0)], None),
        ([task("worker", 0, 50.0)], 50.0),
        ([task("ps", 0, 10.0), task("worker", 0)], None),
        ([task("ps", 0, 10.0), task("worker", 0, 50.0)], 50.0),
        ([task("ps", 0, 70.0), task("worker", 0, 50.0), task("worker", 1)], None),
        ([task("worker", 0, 50.0), task("worker", 1, ended=True)], 50.0),
        ([task("worker", 0, ended=True)], None),
        ([TaskStatus("worker", 0)], None),
        ([], None),
    ],
)
def test_job_is_idle_since_its_last_task(tasks, since):
    job = Job("j", "n", SPEC, 0, state=JobState.RUNNING, tasks=tuple(tasks))

    assert idle_since(job) == since


@pytest.mark.parametrize("state", [state for state in JobState if state is not JobState.RUNNING])
def test_only_a_running_job_can_hang(state):
    job = Job("j", "n", SPEC, 0, state=state, tasks=(task("worker", 0, 50.0),))

    assert idle_since(job) is None
