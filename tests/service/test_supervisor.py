import threading
import time

import pytest

from danlu.errors import Unavailable
from danlu.job.state import JobState, Reason


def states(house, job):
    return [change.state.value for change in house.service.get(job.id).history]


def test_job_goes_from_queue_to_its_end(house, request_of):
    job = house.service.submit(request_of)
    house.tick()
    assert house.service.get(job.id).state is JobState.RUNNING

    house.executor.end(job.id, 1, "worker-0")
    house.tick()

    assert states(house, job) == ["queued", "starting", "running", "succeeded"]
    assert house.executor.held() == []


def test_a_job_waits_while_there_is_no_room(house, request_of):
    first, second, third = (house.service.submit(request_of) for _ in range(3))
    house.tick()
    assert house.service.get(third.id).state is JobState.QUEUED

    house.executor.end(first.id, 1, "worker-0")
    house.tick()
    house.tick()

    assert house.service.get(second.id).state is JobState.RUNNING
    assert house.service.get(third.id).state is JobState.RUNNING


def test_large_job_at_head_of_queue_is_not_overtaken(house, request_of):
    running = house.service.submit(request_of)
    house.tick()
    large = house.service.submit({**request_of, "cpus": 2})
    small = house.service.submit(request_of)

    house.tick()
    assert house.service.get(small.id).state is JobState.QUEUED

    house.executor.end(running.id, 1, "worker-0")
    house.tick()
    house.tick()
    assert house.service.get(large.id).state is JobState.RUNNING
    assert house.service.get(small.id).state is JobState.QUEUED


def test_a_job_of_higher_priority_goes_first(house, request_of):
    house.executor.cpus = 1
    house.service.submit(request_of)
    urgent = house.service.submit({**request_of, "priority": 1})

    house.tick()

    assert house.service.get(urgent.id).state is JobState.RUNNING


def test_queued_job_can_be_stopped_even_when_nothing_moves(house, request_of):
    house.executor.cpus = 1
    house.service.submit(request_of)
    house.service.submit(request_of)
    last = house.service.submit(request_of)
    house.tick()

    house.service.stop(last.id)
    house.tick()

    assert states(house, last) == ["queued", "stopped"]


def test_a_new_server_starts_nothing_twice(house, request_of):
    job = house.service.submit(request_of)
    house.tick()

    house.assemble()
    house.tick()
    house.executor.end(job.id, 1, "worker-0")
    house.assemble()
    house.tick()

    assert house.executor.started == [f"{job.id}/1/worker-0"]
    assert house.service.get(job.id).state is JobState.SUCCEEDED


def test_crash_between_plan_and_start_is_recovered(house, request_of):
    job = house.service.submit(request_of)
    start, house.executor.start = house.executor.start, _dies
    with pytest.raises(SystemExit):
        house.tick()
    house.executor.start = start

    house.assemble()
    house.tick()

    assert house.executor.started == [f"{job.id}/1/worker-0"]


def _dies(*args):
    raise SystemExit


def test_lost_agent_is_retried_after_delay_with_new_attempt(house, request_of):
    job = house.service.submit(request_of)
    house.tick()
    house.executor.lose(job.id, 1, "worker-0")
    house.tick()
    assert house.service.get(job.id).state is JobState.QUEUED
    assert house.executor.held() == []

    house.tick(seconds=10)

    assert house.service.get(job.id).attempt == 2
    assert house.executor.started[-1] == f"{job.id}/2/worker-0"


def test_a_script_that_fails_is_not_retried(house, request_of):
    job = house.service.submit(request_of)
    house.tick()
    house.executor.end(job.id, 1, "worker-0", reason=Reason.SCRIPT_FAILED)

    house.tick()

    assert states(house, job)[-1] == "failed"
    assert house.service.get(job.id).failed_task == "worker-0"


def test_attempts_are_the_retries_asked_for_and_one(house, request_of):
    job = house.service.submit({**request_of, "retries": 2})
    for attempt in (1, 2, 3):
        house.tick(seconds=1000)
        house.executor.lose(job.id, attempt, "worker-0")
        house.tick()

    house.tick(seconds=1000)

    assert len(house.executor.started) == 3
    assert house.service.get(job.id).state is JobState.FAILED


def test_no_retries_means_none(house, request_of):
    job = house.service.submit({**request_of, "retries": 0})
    house.tick()
    house.executor.lose(job.id, 1, "worker-0")

    house.tick()

    assert house.service.get(job.id).state is JobState.FAILED


def test_parameter_servers_are_ended_when_workers_are_done(house, request_of):
    job = house.service.submit({**request_of, "nodes": 2})
    house.tick()
    house.executor.end(job.id, 1, "worker-0")
    house.executor.end(job.id, 1, "worker-1")

    house.tick()

    assert states(house, job)[-2:] == ["stopping", "succeeded"]
    assert reason_of(house, job, "ps-0") is Reason.ENDED_WITH_JOB


def test_peers_of_task_that_failed_were_not_stopped_by_user(house, request_of):
    job = house.service.submit({**request_of, "nodes": 2})
    house.tick()
    house.executor.end(job.id, 1, "worker-1", reason=Reason.SCRIPT_FAILED)

    house.tick()

    assert house.service.get(job.id).reason is Reason.SCRIPT_FAILED
    for task in ("worker-0", "ps-0", "ps-1"):
        assert reason_of(house, job, task) is Reason.ENDED_WITH_JOB


@pytest.mark.parametrize(
    ("reason", "grace"),
    [(Reason.DONE, 2.0), (Reason.KILLED, 20.0), (Reason.SCRIPT_FAILED, 20.0)],
)
def test_surviving_peers_are_stopped_within_30_seconds(house, request_of, reason, grace):
    job = house.service.submit({**request_of, "nodes": 2})
    house.tick()
    house.executor.end(job.id, 1, "worker-0", reason=reason)
    house.executor.end(job.id, 1, "worker-1")

    house.tick()

    assert house.executor.graces == [grace]


def test_killed_peer_is_cause_despite_earlier_failure(house, request_of):
    job = house.service.submit({**request_of, "nodes": 2})
    house.tick()
    house.executor.stubborn = True
    house.executor.end(job.id, 1, "worker-1", reason=Reason.SCRIPT_FAILED)
    house.tick()
    house.executor.end(job.id, 1, "ps-0", reason=Reason.KILLED)
    house.executor.stubborn = False

    house.tick()

    assert states(house, job)[-2:] == ["stopping", "queued"]
    assert house.service.get(job.id).retried == {"killed": 1}


def test_all_tasks_of_stopped_job_were_stopped_by_its_user(house, request_of):
    job = house.service.submit({**request_of, "nodes": 2})
    house.tick()
    house.service.stop(job.id)

    house.tick()

    assert reason_of(house, job, "worker-1") is Reason.STOPPED_BY_USER


def reason_of(house, job, task):
    return house.executor.tasks[job.id, 1, task].outcome.reason


def test_nothing_is_final_while_a_process_is_left(house, request_of):
    job = house.service.submit(request_of)
    house.tick()
    house.executor.stubborn = True
    house.service.stop(job.id)
    house.tick()
    assert house.service.get(job.id).state is JobState.STOPPING

    house.executor.stubborn = False
    house.tick()

    assert house.service.get(job.id).state is JobState.STOPPED


def test_secrets_reach_start_and_are_gone_at_end(house, request_of, tmp_path):
    job = house.service.submit(request_of, secrets={"KEY": "canary-7781"})
    house.tick()
    assert house.executor.secrets[job.id] == {"KEY": "canary-7781"}
    assert "canary-7781" not in repr(house.service.get(job.id))

    house.executor.end(job.id, 1, "worker-0")
    house.tick()

    assert list((tmp_path / "secrets").iterdir()) == []


def test_one_broken_job_does_not_stop_the_others(house, request_of):
    broken = house.service.submit(request_of)
    house.records.save(_with_dialect(house.records.get(broken.id), "gone"))
    sound = house.service.submit(request_of)

    house.tick()

    assert house.service.get(broken.id).state is JobState.FAILED
    assert "gone" in house.service.get(broken.id).detail
    assert house.service.get(sound.id).state is JobState.RUNNING


def _with_dialect(job, name):
    from dataclasses import replace

    return replace(job, spec=replace(job.spec, dialect=name))


def test_supervisor_that_cannot_tidy_up_yet_goes_on(house, request_of):
    held, troubles = house.executor.held, [OSError("the disk is away")]

    def fails_once():
        if troubles:
            raise troubles.pop()
        return held()

    house.executor.held = fails_once
    job = house.service.submit(request_of)
    thread = threading.Thread(target=house.supervisor.run)
    thread.start()
    until = time.monotonic() + 30
    while house.service.get(job.id).state is not JobState.RUNNING and time.monotonic() < until:
        house.supervisor.wake()
        time.sleep(0.01)
    house.supervisor.close()
    thread.join()

    assert house.service.get(job.id).state is JobState.RUNNING


def test_job_that_was_just_started_is_looked_at_soon(house, request_of):
    idle = house.supervisor.tick()
    house.service.submit(request_of)
    started = house.supervisor.tick()
    running = house.supervisor.tick()

    assert started < running < idle


def test_start_is_announced_after_agents_started(house, request_of):
    """Waiting clients query the job at once, which would delay its start."""
    seen = []
    job = house.service.submit(request_of)
    house.supervisor.on_change(lambda: seen.append(list(house.executor.started)))
    house.supervisor.tick()

    assert [f"{job.id}/1/worker-0"] == seen[0]
    assert len(seen) == 2  # it began, and it runs


def test_a_cluster_that_is_away_is_reported_once(house, caplog):
    answers = iter(["away", "away", "away", "denied", "denied"])

    def held():
        house.supervisor.wake()  # no pause before the next look
        why = next(answers, "")
        if why:
            raise Unavailable(f"The cluster is {why}.")
        house.supervisor.close()
        return []

    house.executor.held = held
    house.supervisor.run()

    reported = [record.getMessage() for record in caplog.records if "tick failed" in record.message]
    assert reported == [f"tick failed because=The cluster is {why}." for why in ("away", "denied")]


def test_job_that_is_impossible_isolated_now_waits_and_reports_why(house, request_of):
    """A machine that could not be asked is no machine without isolation."""
    real, writes = house.executor.reserve, []

    def reserve(*_arguments):
        raise Unavailable("Cannot determine which isolation this machine allows: disk full")

    house.executor.reserve = reserve
    job = house.service.submit(request_of)
    for _ in range(3):
        house.tick()
        waiting = house.service.get(job.id)
        writes.append(waiting.version)

    assert waiting.state is JobState.QUEUED
    assert waiting.waits.endswith("isolation this machine allows: disk full")
    assert len(set(writes)) == 1  # logged once, not at every check

    house.executor.reserve = real
    house.tick()

    running = house.service.get(job.id)
    assert (running.state, running.waits) == (JobState.RUNNING, "")
