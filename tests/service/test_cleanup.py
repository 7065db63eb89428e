import pytest

from danlu.job.state import JobState, Reason


def ended(house, request_of, reason):
    job = house.service.submit({**request_of, "retries": 0})
    house.tick()
    house.executor.end(job.id, 1, "worker-0", reason=reason)
    house.tick()
    return job


@pytest.mark.parametrize("reason", [Reason.DONE, Reason.SCRIPT_FAILED, Reason.STOPPED_BY_USER])
def test_scratch_is_removed_when_outputs_are_in_store(house, request_of, reason):
    job = ended(house, request_of, reason)

    assert house.executor.cleared == [job.id]


@pytest.mark.parametrize("reason", [Reason.STORE_UNAVAILABLE, Reason.DISK_FULL])
def test_outputs_that_reached_no_store_are_kept(house, request_of, reason):
    ended(house, request_of, reason)

    assert house.executor.cleared == []


def test_outputs_of_a_lost_agent_are_kept(house, request_of):
    job = house.service.submit({**request_of, "retries": 0})
    house.tick()
    house.executor.lose(job.id, 1, "worker-0")
    house.tick()

    assert house.executor.cleared == []


def test_logs_are_thrown_away_when_their_days_are_over(house, request_of):
    old = ended(house, request_of, Reason.DONE)
    house.now += 29 * 24 * 3600
    young = ended(house, request_of, Reason.DONE)
    house.tick(seconds=2 * 24 * 3600)

    assert house.executor.removed == [old.id]
    assert house.service.get(young.id).name
    assert house.service.get(old.id).name


def test_what_killed_server_left_undone_is_done_by_next(house, request_of):
    job = house.service.submit(request_of)
    house.tick()
    house.executor.end(job.id, 1, "worker-0")
    clear, house.executor.clear = house.executor.clear, _dies
    with pytest.raises(SystemExit):
        house.tick()
    house.executor.clear = clear

    house.assemble()
    house.supervisor.close()
    house.supervisor.run()
    house.assemble()
    house.supervisor._recovery.after_crash()

    assert house.executor.cleared == [job.id]
    assert house.executor.held() == []


def test_outputs_that_reached_no_store_outlive_records_of_their_job(house, request_of):
    """The database was lost: what is nowhere else must not be cleared away for that."""
    job = ended(house, request_of, Reason.STORE_UNAVAILABLE)
    house.records.remove(job.id)

    house.assemble()
    house.supervisor._recovery.after_crash()

    assert house.executor.cleared == house.executor.removed == []


def test_job_awaiting_retry_holds_no_reservation(house, request_of):
    """Others run meanwhile; and a port that was taken is not the one it is given again."""
    job = house.service.submit(request_of)
    house.tick()
    house.executor.lose(job.id, 1, "worker-0")
    release, house.executor.release = house.executor.release, _dies
    with pytest.raises(SystemExit):
        house.tick()
    house.executor.release = release
    assert house.service.get(job.id).state is JobState.QUEUED
    assert house.executor.held() == [job.id]

    house.assemble()
    house.supervisor._recovery.after_crash()

    assert house.executor.held() == []


def _dies(*args):
    raise SystemExit
