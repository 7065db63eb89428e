import threading
import time

import pytest

from danlu.errors import Unavailable
from danlu.job.state import JobState, Reason


def states(platform, job):
    return [change.state.value for change in platform.service.get(job.id).history]


def test_job_goes_from_queue_to_its_end(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    assert platform.service.get(job.id).state is JobState.RUNNING

    platform.executor.end(job.id, 1, "worker-0")
    platform.tick()

    assert states(platform, job) == ["queued", "starting", "running", "succeeded"]
    assert platform.executor.held() == []


def test_a_job_waits_without_free_capacity(platform, request_of):
    first, second, third = (platform.service.submit(request_of) for _ in range(3))
    platform.tick()
    assert platform.service.get(third.id).state is JobState.QUEUED

    platform.executor.end(first.id, 1, "worker-0")
    platform.tick()
    platform.tick()

    assert platform.service.get(second.id).state is JobState.RUNNING
    assert platform.service.get(third.id).state is JobState.RUNNING


def test_large_job_at_head_is_not_overtaken(platform, request_of):
    running = platform.service.submit(request_of)
    platform.tick()
    large = platform.service.submit({**request_of, "cpus": 2})
    small = platform.service.submit(request_of)

    platform.tick()
    assert platform.service.get(small.id).state is JobState.QUEUED

    platform.executor.end(running.id, 1, "worker-0")
    platform.tick()
    platform.tick()
    assert platform.service.get(large.id).state is JobState.RUNNING
    assert platform.service.get(small.id).state is JobState.QUEUED


def test_a_job_of_higher_priority_goes_first(platform, request_of):
    platform.executor.cpus = 1
    platform.service.submit(request_of)
    urgent = platform.service.submit({**request_of, "priority": 1})

    platform.tick()

    assert platform.service.get(urgent.id).state is JobState.RUNNING


def test_queued_job_can_be_stopped_without_activity(platform, request_of):
    platform.executor.cpus = 1
    platform.service.submit(request_of)
    platform.service.submit(request_of)
    last = platform.service.submit(request_of)
    platform.tick()

    platform.service.stop(last.id)
    platform.tick()

    assert states(platform, last) == ["queued", "stopped"]


def test_a_new_server_starts_nothing_twice(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()

    platform.assemble()
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0")
    platform.assemble()
    platform.tick()

    assert platform.executor.started == [f"{job.id}/1/worker-0"]
    assert platform.service.get(job.id).state is JobState.SUCCEEDED


def test_crash_between_plan_and_start_is_recovered(platform, request_of):
    job = platform.service.submit(request_of)
    start, platform.executor.start = platform.executor.start, _dies
    with pytest.raises(SystemExit):
        platform.tick()
    platform.executor.start = start

    platform.assemble()
    platform.tick()

    assert platform.executor.started == [f"{job.id}/1/worker-0"]


def _dies(*args):
    raise SystemExit


def test_lost_agent_is_retried_with_new_attempt(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    platform.executor.lose(job.id, 1, "worker-0")
    platform.tick()
    assert platform.service.get(job.id).state is JobState.QUEUED
    assert platform.executor.held() == []

    platform.tick(seconds=10)

    assert platform.service.get(job.id).attempt == 2
    assert platform.executor.started[-1] == f"{job.id}/2/worker-0"


def test_a_script_that_fails_is_not_retried(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0", reason=Reason.SCRIPT_FAILED)

    platform.tick()

    assert states(platform, job)[-1] == "failed"
    assert platform.service.get(job.id).failed_task == "worker-0"


def test_attempts_are_the_retries_asked_for_and_one(platform, request_of):
    job = platform.service.submit({**request_of, "retries": 2})
    for attempt in (1, 2, 3):
        platform.tick(seconds=1000)
        platform.executor.lose(job.id, attempt, "worker-0")
        platform.tick()

    platform.tick(seconds=1000)

    assert len(platform.executor.started) == 3
    assert platform.service.get(job.id).state is JobState.FAILED


def test_no_retries_means_none(platform, request_of):
    job = platform.service.submit({**request_of, "retries": 0})
    platform.tick()
    platform.executor.lose(job.id, 1, "worker-0")

    platform.tick()

    assert platform.service.get(job.id).state is JobState.FAILED


def test_parameter_servers_are_ended_when_workers_are_done(platform, request_of):
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0")
    platform.executor.end(job.id, 1, "worker-1")

    platform.tick()

    assert states(platform, job)[-2:] == ["stopping", "succeeded"]
    assert reason_of(platform, job, "ps-0") is Reason.ENDED_WITH_JOB


def test_peers_of_failed_task_are_not_user_stopped(platform, request_of):
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    platform.executor.end(job.id, 1, "worker-1", reason=Reason.SCRIPT_FAILED)

    platform.tick()

    assert platform.service.get(job.id).reason is Reason.SCRIPT_FAILED
    for task in ("worker-0", "ps-0", "ps-1"):
        assert reason_of(platform, job, task) is Reason.ENDED_WITH_JOB


@pytest.mark.parametrize(
    ("reason", "grace"),
    [(Reason.DONE, 2.0), (Reason.KILLED, 20.0), (Reason.SCRIPT_FAILED, 20.0)],
)
def test_surviving_peers_are_stopped_within_30_seconds(platform, request_of, reason, grace):
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    platform.executor.end(job.id, 1, "worker-0", reason=reason)
    platform.executor.end(job.id, 1, "worker-1")

    platform.tick()

    assert platform.executor.graces == [grace]


def test_killed_peer_is_cause_despite_earlier_failure(platform, request_of):
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    platform.executor.stubborn = True
    platform.executor.end(job.id, 1, "worker-1", reason=Reason.SCRIPT_FAILED)
    platform.tick()
    platform.executor.end(job.id, 1, "ps-0", reason=Reason.KILLED)
    platform.executor.stubborn = False

    platform.tick()

    assert states(platform, job)[-2:] == ["stopping", "queued"]
    assert platform.service.get(job.id).retried == {"killed": 1}


def test_all_tasks_of_stopped_job_are_user_stopped(platform, request_of):
    job = platform.service.submit({**request_of, "nodes": 2})
    platform.tick()
    platform.service.stop(job.id)

    platform.tick()

    assert reason_of(platform, job, "worker-1") is Reason.STOPPED_BY_USER


def reason_of(platform, job, task):
    return platform.executor.tasks[job.id, 1, task].outcome.reason


def test_nothing_is_final_while_a_process_is_left(platform, request_of):
    job = platform.service.submit(request_of)
    platform.tick()
    platform.executor.stubborn = True
    platform.service.stop(job.id)
    platform.tick()
    assert platform.service.get(job.id).state is JobState.STOPPING

    platform.executor.stubborn = False
    platform.tick()

    assert platform.service.get(job.id).state is JobState.STOPPED


def test_secrets_reach_start_and_are_gone_at_end(platform, request_of, tmp_path):
    job = platform.service.submit(request_of, secrets={"KEY": "canary-7781"})
    platform.tick()
    assert platform.executor.secrets[job.id] == {"KEY": "canary-7781"}
    assert "canary-7781" not in repr(platform.service.get(job.id))

    platform.executor.end(job.id, 1, "worker-0")
    platform.tick()

    assert list((tmp_path / "secrets").iterdir()) == []


def test_one_broken_job_does_not_stop_the_others(platform, request_of):
    broken = platform.service.submit(request_of)
    platform.records.save(_with_dialect(platform.records.get(broken.id), "gone"))
    sound = platform.service.submit(request_of)

    platform.tick()

    assert platform.service.get(broken.id).state is JobState.FAILED
    assert "gone" in platform.service.get(broken.id).detail
    assert platform.service.get(sound.id).state is JobState.RUNNING


def _with_dialect(job, name):
    from dataclasses import replace

    return replace(job, spec=replace(job.spec, dialect=name))


def test_supervisor_that_cannot_tidy_up_yet_goes_on(platform, request_of):
    held, troubles = platform.executor.held, [OSError("the disk is away")]

    def fails_once():
        if troubles:
            raise troubles.pop()
        return held()

    platform.executor.held = fails_once
    job = platform.service.submit(request_of)
    thread = threading.Thread(target=platform.supervisor.run)
    thread.start()
    until = time.monotonic() + 30
    while platform.service.get(job.id).state is not JobState.RUNNING and time.monotonic() < until:
        platform.supervisor.wake()
        time.sleep(0.01)
    platform.supervisor.close()
    thread.join()

    assert platform.service.get(job.id).state is JobState.RUNNING


def test_job_that_was_just_started_is_checked_soon(platform, request_of):
    idle = platform.supervisor.tick()
    platform.service.submit(request_of)
    started = platform.supervisor.tick()
    running = platform.supervisor.tick()

    assert started < running < idle


def test_start_is_announced_after_agents_started(platform, request_of):
    """Waiting clients query the job at once, which would delay its start."""
    seen = []
    job = platform.service.submit(request_of)
    platform.supervisor.on_change(lambda: seen.append(list(platform.executor.started)))
    platform.supervisor.tick()

    assert [f"{job.id}/1/worker-0"] == seen[0]
    assert len(seen) == 2  # it began, and it runs


def test_a_cluster_that_is_away_is_reported_once(platform, caplog):
    answers = iter(["away", "away", "away", "denied", "denied"])

    def held():
        platform.supervisor.wake()  # no pause before the next look
        why = next(answers, "")
        if why:
            raise Unavailable(f"The cluster is {why}.")
        platform.supervisor.close()
        return []

    platform.executor.held = held
    platform.supervisor.run()

    reported = [record.getMessage() for record in caplog.records if "tick failed" in record.message]
    assert reported == [f"tick failed because=The cluster is {why}." for why in ("away", "denied")]


def test_job_that_cannot_be_isolated_waits_with_reason(platform, request_of):
    """A machine that could not be asked is no machine without isolation."""
    real, writes = platform.executor.reserve, []

    def reserve(*_arguments):
        raise Unavailable("Cannot determine which isolation this machine allows: disk full")

    platform.executor.reserve = reserve
    job = platform.service.submit(request_of)
    for _ in range(3):
        platform.tick()
        waiting = platform.service.get(job.id)
        writes.append(waiting.version)

    assert waiting.state is JobState.QUEUED
    assert waiting.waits.endswith("isolation this machine allows: disk full")
    assert len(set(writes)) == 1  # logged once, not at every check

    platform.executor.reserve = real
    platform.tick()

    running = platform.service.get(job.id)
    assert (running.state, running.waits) == (JobState.RUNNING, "")
