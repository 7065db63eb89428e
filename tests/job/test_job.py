from dataclasses import replace

import pytest

from danlu.job.job import ID, NAME, Job, new_id
from danlu.job.plan import Command, Place, Task
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.job.status import Failure, Frame, TaskStatus

SPEC = JobSpec("mnist", "modelarts", "obs://b/code/", "train.py")
JOB = Job("0gpw00000000", "mnist", SPEC, 1.0)


def test_ids_sort_by_time_of_creation():
    """Pages go on before an id, so a job must not be given an id below an older one's."""
    times = [1_700_000_000 + step / 500 for step in range(2000)]

    ids = [new_id(now) for now in times]

    assert ids == sorted(ids)


def test_ids_of_one_moment_differ():
    assert new_id(1_700_000_000.0) != new_id(1_700_000_000.0)


@pytest.mark.parametrize("now", [0.0, 1_700_000_000.0, 4_000_000_000.0])
def test_id_is_twelve_plain_characters_for_century(now):
    assert ID.fullmatch(new_id(now))


def test_id_is_made_of_time_it_is_now():
    assert new_id(1_700_000_000.0) < new_id() < new_id(4_000_000_000.0)


@pytest.mark.parametrize("name", ["a", "mnist-2_B", "9", "x" * 64])
def test_names_that_are_names(name):
    assert NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "中文", "a\n", "x" * 65, "a.b"])
def test_names_that_are_not(name):
    assert not NAME.fullmatch(name)


def test_a_move_is_kept_in_the_history():
    moved = JOB.moved(JobState.STARTING, 2.0).moved(JobState.STOPPING, 3.0, Reason.AGENT_LOST)

    assert (moved.state, moved.reason) == (JobState.STOPPING, Reason.AGENT_LOST)
    assert [(change.state, change.at) for change in moved.history] == [
        (JobState.STARTING, 2.0),
        (JobState.STOPPING, 3.0),
    ]
    assert JOB.history == ()


def test_unknown_transition_is_internal_error():
    with pytest.raises(ValueError, match="no move from queued to running"):
        JOB.moved(JobState.RUNNING, 2.0)


def test_job_ended_at_transition_to_final_state():
    running = JOB.moved(JobState.STARTING, 2.0).moved(JobState.RUNNING, 3.0)

    assert running.ended is None
    assert running.moved(JobState.SUCCEEDED, 4.0, Reason.DONE).ended == 4.0


def test_job_started_when_this_attempt_began_to_run():
    running = JOB.moved(JobState.STARTING, 2.0).moved(JobState.RUNNING, 3.0)
    stopping = running.moved(JobState.STOPPING, 4.0, Reason.KILLED)
    waiting = replace(stopping.moved(JobState.QUEUED, 5.0), attempt=2)
    again = waiting.moved(JobState.STARTING, 6.0).moved(JobState.RUNNING, 7.0)

    assert JOB.started is None
    assert running.started == 3.0
    assert stopping.started == 3.0
    assert waiting.started is None
    assert again.started == 7.0


def test_a_task_is_named_by_role_and_index():
    place = Place("worker", 1)

    assert place.task == "worker-1"
    assert TaskStatus("worker", 1).task == "worker-1"
    assert Task(JOB.id, "mnist", "modelarts", 1, place, Command("train.py")).name == "worker-1"


def test_fixed_path_stands_below_root_of_place():
    assert Place("worker", 0).path("/cache") == "/cache"
    assert Place("worker", 0, root="/work/root").path("/cache") == "/work/root/cache"


def test_failure_happened_at_innermost_line_of_user():
    inner = Frame("nets/a.py", 7)

    assert Failure(frames=(Frame("train.py", 3), inner)).where == inner
    assert Failure().where is None
