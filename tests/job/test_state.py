import pytest

from danlu.job.state import LIVING, MOVES, JobState, Reason

QUEUED, STARTING, RUNNING, STOPPING = LIVING
SUCCEEDED, FAILED, STOPPED = JobState.SUCCEEDED, JobState.FAILED, JobState.STOPPED


@pytest.mark.parametrize(
    ("state", "next_ones"),
    [
        (QUEUED, {STARTING, STOPPED, FAILED}),
        (STARTING, {RUNNING, STOPPING}),
        (RUNNING, {SUCCEEDED, STOPPING}),
        (STOPPING, {STOPPED, FAILED, QUEUED, SUCCEEDED}),
        (SUCCEEDED, set()),
        (FAILED, set()),
        (STOPPED, set()),
    ],
)
def test_the_table_of_moves(state, next_ones):
    assert MOVES[state] == next_ones


def test_every_state_is_in_the_table():
    assert set(MOVES) == set(JobState)


def test_a_final_state_is_one_without_moves():
    assert [state for state in JobState if state.final] == [SUCCEEDED, FAILED, STOPPED]
    assert LIVING == (QUEUED, STARTING, RUNNING, STOPPING)


def test_every_living_state_leads_to_an_end():
    def reached(state, seen):
        return state.final or any(
            reached(following, seen | {state}) for following in MOVES[state] - seen
        )

    assert all(reached(state, frozenset()) for state in LIVING)


@pytest.mark.parametrize("reason", list(Reason))
def test_only_machine_causes_are_retried(reason):
    tries = [reason.retries(asked) for asked in (0, 1, 5)]

    machine = {Reason.KILLED, Reason.HUNG, Reason.PORT_TAKEN}
    machine |= {Reason.STORE_UNAVAILABLE, Reason.AGENT_LOST}
    if reason in machine:
        assert tries == [0, 1, 5]
    elif reason is Reason.OUT_OF_MEMORY:
        assert tries == [0, 1, 1]
    else:
        assert tries == [0, 0, 0]
