"""What the local executor says and does when an agent is slow, frozen, dead or never came."""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from danlu.errors import ExecutorError
from danlu.executors.local import LocalExecutor
from danlu.executors.stopping import AFTER_GRACE, PUSH_PATIENCE
from danlu.executors.watch import CLAIM_PATIENCE
from danlu.job.status import Heartbeat, Phase, Progress, Transfer
from danlu.settings import Settings
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier
from danlu.taskdir.process import alive, this_agent
from danlu.testing.bench import WAITS_FOR_EVER, Bench, eventually

STAND_IN = (sys.executable, str(Path(__file__).with_name("stand_in_agent.py")))
NEVER_CLAIMS = (sys.executable, "-c", "import time; time.sleep(600)")
FAILS_AT_ONCE = (sys.executable, "-c", "raise SystemExit(1)")


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home", cpus=2, isolation="none")


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
    return TaskDir(FileCarrier(settings.jobs / task.job_id), task.attempt, task.name)


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
    assert status(bench, task).silent == 7  # never heard of: counts from the first look
    files.beat(Heartbeat(1, at=-1e9))
    assert status(bench, task).silent == 0
    clock.now += 3
    files.beat(Heartbeat(1, at=1e9))

    assert status(bench, task).silent == 3
    assert not status(bench, task).lost


def test_a_task_is_not_lost_while_its_agent_is_on_its_way(bench, clock):
    bench = bench(NEVER_CLAIMS)
    task = bench.task("")
    bench.start(task)
    clock.now += 10 * CLAIM_PATIENCE

    assert not status(bench, task).lost
    assert status(bench, task).silent == 10 * CLAIM_PATIENCE

    clock.now += 1
    bench.executor.stop(task.job_id, [task], grace=0)
    clock.now += AFTER_GRACE + 1
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))


def test_an_agent_that_leaves_without_a_claim_is_lost_and_not_started_again(bench, settings):
    bench = bench(FAILS_AT_ONCE)
    task = replace(bench.task(""), secrets=("SK",))

    bench.start(task, secrets={"SK": "canary"})
    eventually(lambda: status(bench, task).lost)
    bench.start(task, secrets={"SK": "canary"})

    assert status(bench, task).lost
    assert not list(settings.jobs.rglob("secrets.json"))


def test_a_plan_of_an_earlier_server_that_nobody_claims_is_lost(bench, clock, settings):
    bench = bench(NEVER_CLAIMS)
    task = bench.task("")
    assert not status(bench, task).lost
    files_of(settings, task).write_plan(task, {})

    clock.now += CLAIM_PATIENCE
    assert not status(bench, task).lost
    clock.now += 1

    assert status(bench, task).lost


def test_an_outcome_written_by_a_dying_agent_is_no_loss(bench):
    bench = bench(STAND_IN)
    task = bench.task("print('quick')")
    bench.start(task)

    bench.ended(task)
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=1))

    assert not status(bench, task).lost
    assert status(bench, task).silent == 0


def test_somebody_is_woken_when_an_agent_leaves(bench):
    woken = []
    bench = bench(FAILS_AT_ONCE, wake=lambda: woken.append(True))

    bench.start(bench.task(""))

    eventually(lambda: woken)


def test_a_frozen_agent_is_ended_after_the_grace(bench, clock, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.says(task, "here")
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
    bench.says(task, "here")
    agent = files_of(settings, task).agent()
    os.kill(agent.pid, signal.SIGSTOP)
    bench.executor.stop(task.job_id, [task], grace=3600)
    clock.now += AFTER_GRACE + 1

    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))

    assert files_of(settings, task).stop_requested() == 0
    assert not alive(agent)


def test_an_agent_whose_last_bytes_still_move_may_finish(bench, clock, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.says(task, "here")
    files = files_of(settings, task)
    agent = files.agent()
    os.kill(agent.pid, signal.SIGSTOP)
    bench.executor.stop(task.job_id, [task], grace=0)

    for done in range(5):
        clock.now += PUSH_PATIENCE
        files.report(Progress((Phase("push", 1.0),), Transfer("out", done, 9, 1.0)))
        assert not bench.executor.stop(task.job_id, [task], grace=0)
        assert alive(agent)

    clock.now += PUSH_PATIENCE + 1
    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=0))
    assert not alive(agent)


def test_what_a_dead_agent_left_running_is_ended(bench, settings):
    bench = bench(STAND_IN)
    task = bench.task(WAITS_FOR_EVER)
    bench.start(task)
    bench.says(task, "here")
    assert bench.processes()
    os.kill(files_of(settings, task).agent().pid, signal.SIGKILL)
    assert bench.processes()

    eventually(lambda: bench.executor.stop(task.job_id, [task], grace=3600))

    assert bench.processes() == []
    assert status(bench, task).lost


def test_a_claim_with_the_pid_of_a_stranger_harms_nobody(bench, settings):
    """The test process itself is the stranger: it lives to say so."""
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
