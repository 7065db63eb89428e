"""A hung script is distinguished from a working one."""

import os
import signal
import socket
import time
from dataclasses import replace

import pytest

from danlu.agent.reports.hang_detector import HangDetector, Usage, activity_marker
from danlu.agent.reports.log_capture import JobLog, Redactor
from danlu.agent.reports.progress import Reporter
from danlu.agent.start_barrier import peers_of
from danlu.job.plan import Place
from danlu.job.state import Reason
from danlu.job.status import Outcome
from danlu.taskdir.exchange_dir import ExchangeDir
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

LIMIT = 600.0
EVERY = 10.0
HANGS = "no activity for 10 min"
AGAIN = "active again after"


class Watched:
    """A task whose script is controlled by the test, on the test's own clock."""

    def __init__(self, folder, name="worker-0", peers=None):
        role, _, index = name.partition("-")
        self.files = TaskDir(LocalJobFiles(folder), 1, name)
        self.over = False
        self.now, self.activity, self.used = 100.0, 0, Usage(frozenset({7}), 1.0, 1000)
        self.report = Reporter(self.files)
        self.detector = HangDetector(
            self.report,
            JobLog(self.files.log_writer(1 << 20), Redactor(())),
            lambda: self.activity,
            lambda: self.used,
            lambda: self.over,
            limit=LIMIT,
            job="mnist",
            task=name,
            peers=peers_of(self.files, Place(role, int(index), peers=peers or {})),
            clock=lambda: self.now,
        )

    def passes(self, seconds, does=lambda: None):
        for _ in range(round(seconds / EVERY)):
            self.now += EVERY
            does()
            self.detector.check()

    def uses(self, cpu=0.0, data=0):
        self.used = self.used._replace(cpu=self.used.cpu + cpu, data=self.used.data + data)

    @property
    def flagged(self):
        progress = self.files.progress()
        return progress is not None and progress.still_since is not None

    @property
    def log(self):
        return self.files.log_reader().read(0, 1 << 20).data.decode()


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path)


def test_idle_script_is_flagged_once_after_timeout(watched):
    watched.passes(LIMIT)
    assert not watched.flagged

    watched.passes(2 * EVERY)
    assert watched.flagged
    since = watched.files.progress().still_since
    assert time.time() - since == pytest.approx(LIMIT, abs=60)

    watched.passes(LIMIT)
    assert watched.files.progress().still_since == since
    assert watched.log.count(HANGS) == 1
    assert "danlu stop mnist" in watched.log


def test_flag_goes_when_something_moves_with_note(watched):
    watched.passes(2 * LIMIT)
    watched.activity += 1
    watched.passes(EVERY)

    assert not watched.flagged
    assert watched.log.count(AGAIN) == 1
    assert "after 20 min" in watched.log

    watched.passes(2 * LIMIT)
    assert watched.log.count(HANGS) == 2


def test_a_script_that_ends_does_not_move_again(watched):
    watched.passes(2 * LIMIT)
    watched.over = True
    starts_processes(watched)
    watched.passes(EVERY)

    assert not watched.flagged
    assert AGAIN not in watched.log


def prints(task):
    task.activity += 1


def computes(task):
    task.uses(cpu=0.1)


def downloads(task):
    task.uses(data=10 * 1024)


def starts_processes(task):
    task.used = task.used._replace(pids=frozenset({max(task.used.pids) + 1}))


@pytest.mark.parametrize("does", [prints, computes, downloads, starts_processes])
def test_a_script_that_does_anything_is_not_flagged(watched, does):
    watched.passes(3 * LIMIT, lambda: does(watched))

    assert not watched.flagged
    assert watched.log == ""


def test_the_timers_of_libraries_are_no_movement(watched):
    """What a worker and a parameter server use that wait for each other in TensorFlow."""
    watched.passes(LIMIT + 2 * EVERY, lambda: watched.uses(cpu=0.01, data=450))

    assert watched.flagged


def test_an_agent_that_was_stopped_itself_invents_nothing(watched):
    watched.passes(2 * EVERY)
    watched.now += 5 * LIMIT
    watched.passes(2 * EVERY)

    assert not watched.flagged


def test_a_wall_clock_that_jumps_raises_nothing(watched, monkeypatch):
    watched.passes(LIMIT / 2)
    monkeypatch.setattr(time, "time", lambda: 9_999_999_999.0)
    watched.passes(EVERY)

    assert not watched.flagged


def test_unwritten_flag_is_written_later(watched, monkeypatch):
    def full(progress):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(watched.files, "write_progress", full)
        watched.passes(LIMIT + 2 * EVERY)
    assert not watched.flagged

    watched.passes(EVERY)
    assert watched.flagged


PEERS = {"ps": ("h:1",), "worker": ("h:2",)}


@pytest.fixture
def cluster(tmp_path):
    return [Watched(tmp_path, name, PEERS) for name in ("ps-0", "worker-0")]


def test_waiting_parameter_server_logs_no_hang(cluster):
    ps, worker = cluster
    worker.passes(EVERY)
    ps.passes(3 * LIMIT)

    assert ps.flagged
    assert ps.log == ""


def test_of_hanging_job_task_speaks_that_stopped_last(cluster):
    ps, worker = cluster
    ps.passes(2 * LIMIT)
    worker.passes(LIMIT + 2 * EVERY)
    ps.passes(EVERY)

    assert HANGS in worker.log
    assert ps.log == ""

    ps.activity += 1
    ps.passes(EVERY)
    worker.passes(EVERY)
    assert AGAIN in worker.log
    assert worker.flagged


def test_peer_that_has_ended_is_not_waited_for(cluster):
    ps, worker = cluster
    worker.files.write_outcome(Outcome(1, Reason.DONE, 0, 1.0))
    ps.passes(LIMIT + 2 * EVERY)

    assert HANGS in ps.log


def test_step_line_and_transfer_count_as_activity(tmp_path):
    files, box = TaskDir(LocalJobFiles(tmp_path), 1, "worker-0"), ExchangeDir(tmp_path)
    report, job_log = Reporter(files), JobLog(files.log_writer(1 << 20), Redactor(()))
    carry = report.transfer("train_url", lambda: None)
    seen = [activity_marker(box, report, job_log)]

    def changed():
        seen.append(activity_marker(box, report, job_log))
        return seen[-1] != seen[-2]

    carry(0, 100)  # a look at outputs that have not changed
    job_log.write_line("a line of ours")
    assert not changed()
    carry(10, 100)
    assert changed()
    job_log.write(b"a byte of the script's")
    assert changed()
    (tmp_path / "progress.json").write_text('{"step": 1, "total": null, "rate": 0, "time": 1}')
    assert changed()
    carry(10, 100)
    assert not changed()


COMPUTES = """
    import sys, time
    print("up", flush=True)
    while time.process_time() < float(sys.argv[1]):
        sum(range(20_000))
        time.sleep(0.0005)
"""


def _freeze(bench, number):
    for pid in bench.processes():
        os.kill(pid, number)


def test_frozen_script_is_flagged_until_it_goes_on(bench, until):
    bench.limits = replace(bench.limits, still=1.0)
    files = bench.plan(COMPUTES, args=("60",))
    agent = bench.start(files)
    until(lambda: "up\n" in bench.log(files))

    _freeze(bench, signal.SIGSTOP)
    until(lambda: "no activity for 1 s" in bench.log(files))
    assert files.progress().still_since is not None

    _freeze(bench, signal.SIGCONT)
    until(lambda: AGAIN in bench.log(files))
    assert files.progress().still_since is None
    files.request_stop(0)
    assert agent.wait(100) == 0


def test_script_that_computes_in_silence_is_not_flagged(bench):
    bench.limits = replace(bench.limits, still=1.5)
    files = bench.plan(COMPUTES, args=("2",))

    assert bench.run(files).reason is Reason.DONE
    assert "no activity" not in bench.log(files)


def test_script_waiting_for_slow_store_is_not_flagged(bench):
    """Three kilobytes a second by recv: neither files nor CPU time show them."""
    bench.limits = replace(bench.limits, still=1.0)
    script = """
    import socket, sys
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    while connection.recv(4096):
        pass
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        files = bench.plan(script, args=(str(server.getsockname()[1]),))
        agent = bench.start(files)
        server.settimeout(30)
        store, _ = server.accept()
        with store:
            began, sent = time.monotonic(), 0
            while sent < 7000:
                time.sleep(0.03)
                due = int(3000 * (time.monotonic() - began))  # however long that has slept
                store.sendall(bytes(due - sent))
                sent = due
        assert agent.wait(100) == 0
    assert files.outcome().reason is Reason.DONE
    assert "no activity" not in bench.log(files)
