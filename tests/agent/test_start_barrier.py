"""Tasks of one job begin together."""

import threading

import pytest

from danlu.agent.control import Interrupted, StopReason, StopRequest, StopSignal
from danlu.agent.reports.log_capture import JobLog, Redactor
from danlu.agent.reports.progress import Reporter
from danlu.agent.start_barrier import StartBarrier
from danlu.job.plan import Place
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

PEERS = {"ps": ("h:1",), "worker": ("h:2", "h:3")}


@pytest.fixture
def task(tmp_path):
    """Return a function that gives the meeting of a task, its reporter and its end."""

    def of(name, clock=None):
        role, _, index = name.partition("-")
        files = TaskDir(LocalJobFiles(tmp_path), 1, name)
        stop_signal = StopSignal(lambda: StopRequest(StopReason.USER, 0.0))
        report = Reporter(files)
        log = JobLog(files.log_writer(1 << 20), Redactor(()))
        more = {"clock": clock} if clock else {}
        place = Place(role, int(index), peers=PEERS)
        return StartBarrier(files, place, stop_signal, report, log, **more), report, stop_signal

    of.log = lambda name: TaskDir(LocalJobFiles(tmp_path), 1, name).log_reader().read(0, 999).data
    return of


def test_no_task_starts_before_all_are_ready(task):
    begun = []
    tasks = {name: task(name) for name in ("ps-0", "worker-0", "worker-1")}

    def begin(name):
        tasks[name][0].wait()
        begun.append(name)

    threads = [threading.Thread(target=begin, args=(name,)) for name in ("ps-0", "worker-1")]
    for thread in threads:
        thread.start()
    tasks["worker-0"][1].begin("fetch data_url")
    threads[0].join(0.3)
    assert begun == []

    begin("worker-0")
    for thread in threads:
        thread.join()
    assert sorted(begun) == ["ps-0", "worker-0", "worker-1"]


def test_a_peer_that_is_further_has_been_ready(task):
    for name in ("ps-0", "worker-1"):
        _, report, _ = task(name)
        report.begin("meet")
        report.begin("run")

    meeting, _, _ = task("worker-0")
    meeting.wait()


def test_waiting_task_can_be_stopped(task):
    meeting, _, stop_signal = task("worker-0")
    stop_signal.request_stop(StopReason.JOB, 0.0)

    with pytest.raises(Interrupted):
        meeting.wait()


def test_log_names_the_tasks_waited_for(task):
    now = iter(range(0, 10_000, 20))
    meeting, _, stop_signal = task("worker-0", clock=lambda: next(now))
    _, report, _ = task("worker-1")
    report.begin("fetch data_url")
    threading.Timer(0.5, stop_signal.request_stop, (StopReason.USER, 0.0)).start()

    with pytest.raises(Interrupted):
        meeting.wait()

    assert b"waiting for ps-0 (start), worker-1 (fetch data_url)" in task.log("worker-0")
