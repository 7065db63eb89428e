"""A hung job: reported, or stopped and retried."""

from dataclasses import replace

import pytest

from danlu.job.state import JobState, Reason
from danlu.job.status import Progress
from danlu.service.diagnosis.cause import explain, hang_of

SINCE = 999_000.0


@pytest.fixture
def still(platform, request_of):
    """Return a job that runs and of which nothing moves."""

    def run():
        job = platform.service.submit({**request_of, "name": "mnist", "retries": 1})
        platform.tick()
        stands_still(platform, job)
        return job

    return run


def stands_still(platform, job, attempt=1, since=SINCE):
    key = (job.id, attempt, "worker-0")
    known = platform.executor.tasks[key]
    platform.executor.tasks[key] = replace(known, progress=Progress(still_since=since))


def test_hang_is_only_reported_by_default(platform, still):
    job = still()
    platform.tick()

    seen = platform.service.get("mnist")
    assert seen.state is JobState.RUNNING
    hang = hang_of(seen)
    assert (hang.since, hang.next) == (SINCE, "danlu logs mnist --tail 50")
    assert "danlu stop mnist" in hang.en
    assert "danlu stop mnist" in hang.zh
    assert [hang_of(seen).since for seen in platform.service.page()] == [SINCE]

    stands_still(platform, job, since=None)
    assert hang_of(platform.service.get("mnist")) is None


def test_another_server_knows_it_too(platform, still):
    still()
    platform.assemble()

    assert hang_of(platform.service.get("mnist")).since == SINCE


def test_hung_job_is_retried_and_fails_as_hung(platform, still):
    platform.settle(hang="retry", hang_timeout=90.0)
    job = still()
    platform.tick()
    platform.tick(platform.settings.retry_delay + 1)
    assert platform.service.get("mnist").attempt == 2
    assert platform.service.get("mnist").retried == {"hung": 1}

    platform.tick()
    stands_still(platform, job, attempt=2)
    platform.tick()
    platform.tick()

    ended = platform.service.get("mnist")
    assert (ended.state, ended.reason) == (JobState.FAILED, Reason.HUNG)
    cause = explain(ended)
    assert cause.en == "mnist made no progress for 90 s and was stopped (attempts: 2)."
    assert cause.next == "danlu logs mnist --tail 50"
    assert hang_of(ended) is None


def test_the_time_set_is_in_the_plan(platform, still):
    platform.settle(hang_timeout=90.0)
    still()

    assert [task.limits.still for task in platform.service.get("mnist").plan] == [90.0]
