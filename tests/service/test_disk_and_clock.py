"""A full disk and a clock that jumps are no job's fault: no job ends because of them."""

import errno
from pathlib import Path

import pytest

from danlu.job.state import JobState, Reason

DAY = 24 * 3600.0


@pytest.fixture
def job(platform, request_of):
    return platform.service.submit(request_of)


def fail(platform, method, number):
    """Let a method of the executor fail until the returned list is emptied."""
    works, troubles = getattr(platform.executor, method), [number]

    def fails(*args, **kwargs):
        if troubles:
            raise OSError(troubles[0], "no")
        return works(*args, **kwargs)

    setattr(platform.executor, method, fails)
    return troubles


@pytest.mark.parametrize("method", ["reserve", "start", "poll"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.EAGAIN])
def test_job_waits_for_machine_that_has_nothing_left(platform, job, method, number):
    troubles = fail(platform, method, number)
    for _ in range(5):
        platform.tick(3600)
    assert not platform.records.get(job.id).state.final

    troubles.clear()
    platform.tick()

    assert platform.service.get(job.id).state is JobState.RUNNING


def test_fault_that_does_not_pass_ends_waiting_job(platform, job):
    fail(platform, "reserve", errno.EINVAL)

    platform.tick()

    assert platform.service.get(job.id).reason is Reason.PLATFORM_FAILED


@pytest.mark.parametrize("jump", [-DAY, -7200.0, 7200.0, DAY])
def test_jumping_clock_ends_nothing_and_delays_no_retry(platform, job, jump):
    platform.tick()
    platform.now += jump
    platform.tick()
    assert platform.service.get(job.id).state is JobState.RUNNING

    platform.executor.lose(job.id, 1, "worker-0")
    platform.tick()
    assert platform.service.get(job.id).state is JobState.QUEUED
    platform.now += jump
    platform.tick(platform.settings.retry_delay + 1)

    found = platform.service.get(job.id)
    assert (found.state, found.attempt) == (JobState.RUNNING, 2)


def test_retry_waits_its_time_where_clock_stands_still(platform, job):
    platform.tick()
    platform.executor.lose(job.id, 1, "worker-0")

    platform.tick()
    platform.tick()

    assert platform.service.get(job.id).state is JobState.QUEUED


def test_cache_is_tidied_after_clock_was_set_back(platform):
    platform.tick()
    left_over = Path(platform.settings.cache) / "trees" / ".tmp-digest-of_a_killed_agent"
    left_over.mkdir(parents=True)
    platform.tick()
    assert left_over.exists()  # once an hour is enough

    platform.tick(-DAY)

    assert not left_over.exists()


@pytest.mark.parametrize("jump", [-DAY, -7200.0, 7200.0, DAY])
def test_logs_of_ended_jobs_outlive_clock_that_jumps(platform, job, jump):
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0")
    platform.tick()
    assert platform.service.get(job.id).state is JobState.SUCCEEDED

    platform.tick(jump)

    assert platform.executor.removed == []
