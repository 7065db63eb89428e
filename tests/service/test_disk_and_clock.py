"""A disk without room and a clock that jumps are no job's fault: no job ends because of them."""

import errno
from pathlib import Path

import pytest

from danlu.job.state import JobState, Reason

DAY = 24 * 3600.0


@pytest.fixture
def job(house, request_of):
    return house.service.submit(request_of)


def fail(house, method, number):
    """Let a method of the executor fail until the returned list is emptied."""
    works, troubles = getattr(house.executor, method), [number]

    def fails(*args, **kwargs):
        if troubles:
            raise OSError(troubles[0], "no")
        return works(*args, **kwargs)

    setattr(house.executor, method, fails)
    return troubles


@pytest.mark.parametrize("method", ["reserve", "start", "poll"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.EAGAIN])
def test_job_waits_for_machine_that_has_nothing_left(house, job, method, number):
    troubles = fail(house, method, number)
    for _ in range(5):
        house.tick(3600)
    assert not house.records.get(job.id).state.final

    troubles.clear()
    house.tick()

    assert house.service.get(job.id).state is JobState.RUNNING


def test_fault_that_does_not_pass_ends_job_that_waits(house, job):
    fail(house, "reserve", errno.EINVAL)

    house.tick()

    assert house.service.get(job.id).reason is Reason.PLATFORM_FAILED


@pytest.mark.parametrize("jump", [-DAY, -7200.0, 7200.0, DAY])
def test_clock_that_jumps_ends_nothing_and_delays_no_retry(house, job, jump):
    house.tick()
    house.now += jump
    house.tick()
    assert house.service.get(job.id).state is JobState.RUNNING

    house.executor.lose(job.id, 1, "worker-0")
    house.tick()
    assert house.service.get(job.id).state is JobState.QUEUED
    house.now += jump
    house.tick(house.settings.retry_delay + 1)

    found = house.service.get(job.id)
    assert (found.state, found.attempt) == (JobState.RUNNING, 2)


def test_retry_waits_its_time_where_clock_stands_still(house, job):
    house.tick()
    house.executor.lose(job.id, 1, "worker-0")

    house.tick()
    house.tick()

    assert house.service.get(job.id).state is JobState.QUEUED


def test_cache_is_tidied_after_clock_was_set_back(house):
    house.tick()
    left_over = Path(house.settings.cache) / "trees" / ".tmp-digest-of_a_killed_agent"
    left_over.mkdir(parents=True)
    house.tick()
    assert left_over.exists()  # once an hour is enough

    house.tick(-DAY)

    assert not left_over.exists()


@pytest.mark.parametrize("jump", [-DAY, -7200.0, 7200.0, DAY])
def test_logs_of_ended_jobs_outlive_clock_that_jumps(house, job, jump):
    house.tick()
    house.executor.end(job.id, 1, "worker-0")
    house.tick()
    assert house.service.get(job.id).state is JobState.SUCCEEDED

    house.tick(jump)

    assert house.executor.removed == []
