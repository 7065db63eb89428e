"""How long a job waits before it is tried again."""

from dataclasses import replace

import pytest

from danlu.job.job import Job
from danlu.job.spec import JobSpec
from danlu.job.state import JobState, Reason
from danlu.service.jobs.decide import MAX_DELAY, retry_delay

HOURS = 4 * 3600.0


def killed_after(*running_times):
    """A job that was killed after each of these times, and is to be tried again."""
    spec = JobSpec("job", "modelarts", "obs://bucket/code", "train.py")
    job = Job("0123456789ab", "job", spec, created=0.0)
    now = 1000.0
    for seconds in running_times:
        for state in (JobState.STARTING, JobState.RUNNING):
            job = job.moved(state, now)
        now += seconds
        for state in (JobState.STOPPING, JobState.QUEUED):
            job = job.moved(state, now, Reason.KILLED)
        job = replace(job, attempt=job.attempt + 1)
    return job


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        ([5], 2),
        ([5, 5], 4),
        ([5, 5, 5, 5, 5], 32),
        ([5] * 10, MAX_DELAY),
        ([MAX_DELAY] * 10, MAX_DELAY),
        ([5] * 1_100, MAX_DELAY),
        # A machine that does run it fails it once a day.
        ([HOURS] * 10, 2),
        ([5] * 9 + [HOURS], 2),
        ([5] * 9 + [HOURS, 5], 2),
        ([5] * 9 + [HOURS, 5, 5], 4),
        # The clock was set back.
        ([-HOURS, -HOURS], 4),
    ],
)
def test_delay_doubles_until_a_long_attempt(times, seconds):
    assert retry_delay(killed_after(*times), 2.0) == seconds


def test_attempt_without_start_has_short_run_time():
    job = killed_after(HOURS)
    for state in (JobState.STARTING, JobState.STOPPING, JobState.QUEUED):
        job = job.moved(state, 1e6)
    assert retry_delay(replace(job, attempt=3), 2.0) == 2
    for state in (JobState.STARTING, JobState.STOPPING, JobState.QUEUED):
        job = job.moved(state, 2e6)
    assert retry_delay(replace(job, attempt=4), 2.0) == 4


def test_delay_is_reset_after_a_long_attempt(platform, request_of):
    job = platform.service.submit({**request_of, "retries": 20})
    for attempt in range(1, 11):
        platform.tick(seconds=platform.settings.retry_delay + 1)
        found = platform.service.get(job.id)
        assert (found.state, found.attempt) == (JobState.RUNNING, attempt)
        platform.now += HOURS
        platform.executor.lose(job.id, attempt, "worker-0")
        platform.tick()
    platform.tick()

    found = platform.service.get(job.id)
    assert (found.state, found.attempt) == (JobState.QUEUED, 11)
