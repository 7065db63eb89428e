import pytest

from danlu.job.state import JobState, Reason


def ended(platform, request_of, reason):
    job = platform.service.submit({**request_of, "retries": 0})
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0", reason=reason)
    platform.tick()
    return job


@pytest.mark.parametrize("reason", [Reason.DONE, Reason.SCRIPT_FAILED, Reason.STOPPED_BY_USER])
def test_scratch_is_removed_when_outputs_are_in_store(platform, request_of, reason):
    job = ended(platform, request_of, reason)

    assert platform.executor.cleared == [job.id]


@pytest.mark.parametrize("reason", [Reason.STORE_UNAVAILABLE, Reason.DISK_FULL])
def test_outputs_that_reached_no_store_are_kept(platform, request_of, reason):
    ended(platform, request_of, reason)

    assert platform.executor.cleared == []


def test_outputs_of_a_lost_agent_are_kept(platform, request_of):
    job = platform.service.submit({**request_of, "retries": 0})
    platform.tick()
    platform.executor.lose(job.id, 1, "worker-0")
    platform.tick()

    assert platform.executor.cleared == []


def test_logs_are_removed_when_their_days_are_over(platform, request_of):
    old = ended(platform, request_of, Reason.DONE)
    platform.now += 29 * 24 * 3600
    young = ended(platform, request_of, Reason.DONE)
    platform.tick(seconds=2 * 24 * 3600)

    assert platform.executor.removed == [old.id]
    assert platform.service.get(young.id).name
    assert platform.service.get(old.id).name


def test_next_server_completes_work_of_killed_one(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0")
    clear, platform.executor.clear = platform.executor.clear, _dies
    with pytest.raises(SystemExit):
        platform.tick()
    platform.executor.clear = clear

    platform.assemble()
    platform.supervisor.close()
    platform.supervisor.run()
    platform.assemble()
    platform.supervisor._recovery.after_crash()

    assert platform.executor.cleared == [job.id]
    assert platform.executor.held() == []


def test_unstored_outputs_outlive_records_of_job(platform, request_of):
    """The database was lost: what is nowhere else must not be cleared away for that."""
    job = ended(platform, request_of, Reason.STORE_UNAVAILABLE)
    platform.records.remove(job.id)

    platform.assemble()
    platform.supervisor._recovery.after_crash()

    assert platform.executor.cleared == platform.executor.removed == []


def test_job_awaiting_retry_holds_no_reservation(platform, request_of):
    """Others run meanwhile; and a port that was taken is not the one it is given again."""
    job = platform.service.submit(request_of)
    platform.tick()
    platform.executor.lose(job.id, 1, "worker-0")
    release, platform.executor.release = platform.executor.release, _dies
    with pytest.raises(SystemExit):
        platform.tick()
    platform.executor.release = release
    assert platform.service.get(job.id).state is JobState.QUEUED
    assert platform.executor.held() == [job.id]

    platform.assemble()
    platform.supervisor._recovery.after_crash()

    assert platform.executor.held() == []


def _dies(*args):
    raise SystemExit
