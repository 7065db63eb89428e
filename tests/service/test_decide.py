import pytest

from danlu.job.job import Job
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Outcome, Progress, Steps, TaskStatus
from danlu.service.jobs.decide import StateTransition, decide

SPEC = JobSpec(name="n", dialect="modelarts", code="obs://b/c", entry="t.py", retries=2)


def task(role="worker", index=0, reason=None, ended=1.0, **more):
    outcome = reason and Outcome(1, reason, 0, ended)
    return TaskStatus(role, index, decides=role != "ps", outcome=outcome, **more)


NOT_YET = task()
ALIVE = task(claimed=True)
PS = task("ps", claimed=True)
DONE = task(claimed=True, reason=Reason.DONE)
DEAD = task(claimed=True, reason=Reason.SCRIPT_FAILED)
QUIET = task(claimed=True, silent=61)
BROKEN_PS = task("ps", claimed=True, reason=Reason.SCRIPT_FAILED)
LOST_PS = task("ps", claimed=True, lost=True)
NEVER_CAME = task(silent=61)
LOST = task(claimed=True, lost=True)
STILL = task(claimed=True, progress=Progress(still_since=5.0))
STILL_PS = task("ps", claimed=True, progress=Progress(still_since=5.0))


def job(state, **more):
    return Job(id="j", name="n", spec=SPEC, created=0, state=state, **more)


@pytest.mark.parametrize(
    ("state", "tasks", "move"),
    [
        (JobState.STARTING, [NOT_YET], None),
        (JobState.STARTING, [ALIVE, NOT_YET], None),
        (JobState.STARTING, [ALIVE], StateTransition(JobState.RUNNING)),
        (JobState.STARTING, [], None),
        (
            JobState.STARTING,
            [NEVER_CAME],
            StateTransition(JobState.STOPPING, Reason.AGENT_LOST, "worker-0"),
        ),
        (JobState.RUNNING, [ALIVE], None),
        (JobState.RUNNING, [], None),
        (JobState.RUNNING, [PS], None),
        (JobState.RUNNING, [DONE], StateTransition(JobState.SUCCEEDED, Reason.DONE)),
        (JobState.RUNNING, [DONE, ALIVE], None),
        (JobState.RUNNING, [PS, DONE], StateTransition(JobState.STOPPING, Reason.DONE)),
        (JobState.RUNNING, [BROKEN_PS, DONE], StateTransition(JobState.SUCCEEDED, Reason.DONE)),
        (JobState.RUNNING, [LOST_PS, DONE], StateTransition(JobState.STOPPING, Reason.DONE)),
        (
            JobState.RUNNING,
            [DEAD],
            StateTransition(JobState.STOPPING, Reason.SCRIPT_FAILED, "worker-0"),
        ),
        (
            JobState.RUNNING,
            [QUIET],
            StateTransition(JobState.STOPPING, Reason.AGENT_LOST, "worker-0"),
        ),
        (
            JobState.RUNNING,
            [LOST],
            StateTransition(JobState.STOPPING, Reason.AGENT_LOST, "worker-0"),
        ),
    ],
)
def test_next_move(state, tasks, move):
    assert decide(job(state), tasks, timeout=60, gone=False) == move


HUNG = StateTransition(JobState.STOPPING, Reason.HUNG)


@pytest.mark.parametrize(
    ("tasks", "end_hung", "move"),
    [
        ([STILL], False, None),
        ([STILL], True, HUNG),
        ([STILL_PS, ALIVE], True, None),
        ([STILL_PS, STILL], True, HUNG),
        ([STILL_PS, DONE], True, StateTransition(JobState.STOPPING, Reason.DONE)),
        ([STILL, DEAD], True, StateTransition(JobState.STOPPING, Reason.SCRIPT_FAILED, "worker-0")),
    ],
)
def test_hung_job_is_stopped_if_configured(tasks, end_hung, move):
    running = job(JobState.RUNNING)

    assert decide(running, tasks, timeout=60, gone=False, end_hung=end_hung) == move


def test_the_task_that_failed_first_is_the_cause():
    peers = [
        task(index=0, reason=Reason.KILLED, ended=9.0),
        task(index=1, reason=Reason.SCRIPT_FAILED, ended=5.0),
    ]

    move = decide(job(JobState.RUNNING), peers, timeout=60, gone=False)

    assert move == StateTransition(JobState.STOPPING, Reason.SCRIPT_FAILED, "worker-1")


@pytest.mark.parametrize("reason", [Reason.KILLED, Reason.PORT_TAKEN, Reason.OUT_OF_MEMORY])
def test_failure_after_lost_peer_is_not_cause(reason):
    """Two agents report one event, in any order."""
    peers = [
        task(index=0, reason=Reason.SCRIPT_FAILED, ended=5.0),
        task(index=1, reason=reason, ended=6.0),
    ]

    move = decide(job(JobState.RUNNING), peers, timeout=60, gone=False)

    assert move == StateTransition(JobState.STOPPING, reason, "worker-1")


def test_peer_that_is_lost_without_word_is_cause():
    peers = [task(index=0, reason=Reason.SCRIPT_FAILED), task(index=1, claimed=True, lost=True)]

    move = decide(job(JobState.RUNNING), peers, timeout=60, gone=False)

    assert move == StateTransition(JobState.STOPPING, Reason.AGENT_LOST, "worker-1")


def test_cause_may_arrive_last():
    """worker-1 was killed and its agent still stored outputs when its peer had failed already."""
    stopping = job(JobState.STOPPING, reason=Reason.SCRIPT_FAILED, failed_task="worker-0")
    peers = [
        task("ps", reason=Reason.ENDED_WITH_JOB, ended=3.0),
        task(index=0, reason=Reason.SCRIPT_FAILED, ended=5.0),
        task(index=1, reason=Reason.KILLED, ended=4.0),
    ]

    move = decide(stopping, peers, timeout=60, gone=True)

    assert move == StateTransition(JobState.QUEUED, Reason.KILLED, "worker-1")


def test_task_killed_with_its_job_is_no_cause():
    stopping = job(JobState.STOPPING, reason=Reason.SCRIPT_FAILED, failed_task="worker-0")
    peers = [task(reason=Reason.SCRIPT_FAILED), task(index=1, claimed=True, lost=True)]

    move = decide(stopping, peers, timeout=60, gone=True)

    assert move == StateTransition(JobState.FAILED, Reason.SCRIPT_FAILED, "worker-0")


def killed(step, index=0):
    steps = None if step is None else Steps(step)
    return task(index=index, reason=Reason.KILLED, progress=Progress(steps=steps))


@pytest.mark.parametrize(
    ("before", "now", "follows"),
    [
        (
            {"worker-0": 23},
            killed(23),
            StateTransition(JobState.FAILED, Reason.KILLED_AGAIN, "worker-0"),
        ),
        ({"worker-0": 23}, killed(24), StateTransition(JobState.QUEUED, Reason.KILLED, "worker-0")),
        ({"worker-1": 23}, killed(23), StateTransition(JobState.QUEUED, Reason.KILLED, "worker-0")),
        ({}, killed(23), StateTransition(JobState.QUEUED, Reason.KILLED, "worker-0")),
        ({}, killed(None), StateTransition(JobState.QUEUED, Reason.KILLED, "worker-0")),
    ],
)
def test_job_killed_twice_at_one_step_fails(before, now, follows):
    stopping = job(
        JobState.STOPPING, reason=Reason.KILLED, failed_task="worker-0", killed_at=before
    )

    assert decide(stopping, [now], timeout=60, gone=True) == follows


def test_job_lost_at_the_same_step_is_retried():
    """The machine was taken away: no step is the cause of that."""
    stopping = job(
        JobState.STOPPING,
        reason=Reason.AGENT_LOST,
        failed_task="worker-0",
        killed_at={"worker-0": 23},
    )
    lost = task(lost=True, progress=Progress(steps=Steps(23)))

    move = decide(stopping, [lost], timeout=60, gone=True)

    assert move == StateTransition(JobState.QUEUED, Reason.AGENT_LOST, "worker-0")


def test_a_user_may_stop_what_runs():
    move = decide(job(JobState.RUNNING, stop_requested=True), [ALIVE], timeout=60, gone=False)

    assert move == StateTransition(JobState.STOPPING, Reason.STOPPED_BY_USER)


def test_a_job_that_is_done_is_not_stopped():
    move = decide(job(JobState.RUNNING, stop_requested=True), [DONE], timeout=60, gone=False)

    assert move == StateTransition(JobState.SUCCEEDED, Reason.DONE)


def test_nothing_follows_while_a_process_is_left():
    stopping = job(JobState.STOPPING, reason=Reason.AGENT_LOST)

    assert decide(stopping, [LOST], timeout=60, gone=False) is None


@pytest.mark.parametrize(
    ("reason", "more", "state"),
    [
        (Reason.STOPPED_BY_USER, {}, JobState.STOPPED),
        (Reason.DONE, {}, JobState.SUCCEEDED),
        (Reason.SCRIPT_FAILED, {}, JobState.FAILED),
        (Reason.DISK_FULL, {}, JobState.FAILED),
        (Reason.FETCH_FAILED, {}, JobState.FAILED),
        (Reason.AGENT_LOST, {}, JobState.QUEUED),
        (Reason.KILLED, {}, JobState.QUEUED),
        (Reason.STORE_UNAVAILABLE, {}, JobState.QUEUED),
        (Reason.KILLED, {"attempt": 3, "retried": {"killed": 2}}, JobState.FAILED),
        (Reason.OUT_OF_MEMORY, {}, JobState.QUEUED),
        (Reason.OUT_OF_MEMORY, {"attempt": 2, "retried": {"out_of_memory": 1}}, JobState.FAILED),
        (Reason.AGENT_LOST, {"stop_requested": True}, JobState.STOPPED),
    ],
)
def test_what_follows_when_every_process_is_gone(reason, more, state):
    stopping = job(JobState.STOPPING, reason=reason, **more)

    assert decide(stopping, [], timeout=60, gone=True).state is state


def test_different_causes_do_not_retry_endlessly():
    stopping = job(JobState.STOPPING, reason=Reason.KILLED, attempt=3, retried={"agent_lost": 2})

    assert decide(stopping, [], timeout=60, gone=True).state is JobState.FAILED
