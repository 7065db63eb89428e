"""The local executor with an agent that is slow, frozen, dead or never started."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from contracts.executor import WAITS_FOR_EVER, Bench, eventually
from danlu.errors import ExecutorError
from danlu.executors.local import LocalExecutor
from danlu.executors.task_monitor import AFTER_GRACE, CLAIM_TIMEOUT, PUSH_TIMEOUT
from danlu.job.status import Heartbeat, Phase, Progress, Transfer
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles
from danlu.taskdir.processes import alive, this_agent

STAND_IN = (sys.executable, str(Path(__file__).with_name("fake_agent.py")))
NEVER_CLAIMS = (sys.executable, "-c", "import time; time.sleep(600)")
FAILS_AT_ONCE = (sys.executable, "-c", "raise SystemExit(1)")


@pytest.fixture
def bench(settings, clock, tmp_path):
    benches = []

    def make(agent_command, wake=None):
        executor = LocalExecutor(settings, clock, wake, agent_command=agent_command)
        benches.append(Bench(executor, tmp_path))
        return benches[-1]

    yield make
    for bench in benches:
        for pid in bench.processes():
            os.kill(pid, signal.SIGKILL)


def files_of(settings, task):
    return TaskDir(LocalJobFiles(settings.jobs / task.job_id), task.attempt, task.name)


def status(bench, task):
    return bench.executor.poll(task.job_id, [task])[0]


def test_silence_is_measured_on_our_own_clock(bench, clock, settings):
    bench = bench(NEVER_CLAIMS)
    task = bench.task("")
    files = files_of(settings, task)
    files.write_plan(task, {})
    files.claim(this_agent())
    assert status(bench, task).silent == 0

    clock.now += 7
    assert status(bench, task).silent == 7  # no heartbeat yet: counts from the first check
    files.write_heartbeat(Heartbeat(1, at=-1e9))
    assert status(bench, task).silent == 0
    clock.now += 3
    files.write_heartbeat(Heartbeat(1, at=1e9))

    assert status(bench, task).silent == 3
    assert not status(bench, task).lost


def test_task_is_not_lost_while_agent_starts(bench, clock):
    bench = bench(NEVER_CLAIMS)
    task = bench.task("")
    bench.start(task)
    clock.now += 10 * CLAIM_TIMEOUT

    assert not status(bench, task).lost
    assert status(bench, task).silent == 10 * CLAIM_TIMEOUT

    clock.now += 1
    bench.executor.stop(task.job_id, [task], grace=0)
    clock.now += AFTER_GRACE + 1
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))


def test_agent_that_exits_unclaimed_is_lost(bench, settings):
    bench = bench(FAILS_AT_ONCE)
    task = replace(bench.task(""), secrets=("SK",))

    bench.start(task, secrets={"SK": "canary"})
    eventually(lambda: status(bench, task).lost)
    bench.start(task, secrets={"SK": "canary"})

    assert status(bench, task).lost
    assert not list(settings.jobs.rglob("secrets.json"))


def test_unclaimed_plan_of_earlier_server_is_lost(bench, clock, settings):
    bench = bench(NEVER_CLAIMS)
    task = bench.task("")
    assert not status(bench, task).lost
    files_of(settings, task).write_plan(task, {})

    clock.now += CLAIM_TIMEOUT
    assert not status(bench, task).lost
    clock.now += 1

    assert status(bench, task).lost


def test_outcome_written_by_dying_agent_is_no_loss(bench):
    bench = bench(STAND_IN)
    task = bench.task("print('quick')")
    bench.start(task)

    bench.ended(task)
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=1))

    assert not status(bench, task).lost
    assert status(bench, task).silent == 0


def test_wake_is_called_when_agent_exits(bench):
    woken = []
    bench = bench(FAILS_AT_ONCE, wake=lambda: woken.append(True))

    bench.start(bench.task(""))

    eventually(lambda: woken)


def test_a_frozen_agent_is_ended_after_the_grace(bench, clock, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.prints(task, "here")
    agent = files_of(settings, task).agent()
    os.kill(agent.pid, signal.SIGSTOP)

    assert not bench.executor.stop(task.job_id, [task], grace=30)
    clock.now += 30 + AFTER_GRACE
    assert not bench.executor.stop(task.job_id, [task], grace=30)
    assert alive(agent)
    clock.now += 1

    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=30))
    assert not alive(agent)
    assert bench.processes() == []


def test_a_second_stop_may_shorten_the_grace(bench, clock, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.prints(task, "here")
    agent = files_of(settings, task).agent()
    os.kill(agent.pid, signal.SIGSTOP)
    bench.executor.stop(task.job_id, [task], grace=3600)
    clock.now += AFTER_GRACE + 1

    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))

    assert files_of(settings, task).stop_requested() == 0
    assert not alive(agent)


def test_agent_whose_last_bytes_still_move_may_finish(bench, clock, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.prints(task, "here")
    files = files_of(settings, task)
    agent = files.agent()
    os.kill(agent.pid, signal.SIGSTOP)
    bench.executor.stop(task.job_id, [task], grace=0)

    for done in range(5):
        clock.now += PUSH_TIMEOUT
        files.write_progress(Progress((Phase("push", 1.0),), Transfer("out", done, 9, 1.0)))
        assert not bench.executor.stop(task.job_id, [task], grace=0)
        assert alive(agent)

    clock.now += PUSH_TIMEOUT + 1
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))
    assert not alive(agent)


def test_what_a_dead_agent_left_running_is_ended(bench, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.prints(task, "here")
    assert bench.processes()
    os.kill(files_of(settings, task).agent().pid, signal.SIGKILL)
    assert bench.processes()

    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=3600))

    assert bench.processes() == []
    assert status(bench, task).lost


def test_claim_with_reused_pid_signals_no_process(bench, settings):
    """The test process itself has the pid: it must survive."""
    bench = bench(STAND_IN)
    task = bench.task("")
    files = files_of(settings, task)
    files.write_plan(task, {})
    files.claim(replace(this_agent(), started=1))

    assert status(bench, task).lost
    assert bench.executor.stop(task.job_id, [task], grace=0)


def test_a_secret_that_is_not_there_is_named(bench):
    bench = bench(STAND_IN)
    task = replace(bench.task(""), secrets=("AK", "SK"))

    with pytest.raises(ExecutorError, match="needs the secrets SK"):
        bench.start(task, secrets={"AK": "x"})
