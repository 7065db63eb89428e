"""Tasks of one job begin together."""

import threading

import pytest

from danlu.agent.ending import Ending, Interrupted, Why, Wish
from danlu.agent.meeting import Meeting
from danlu.agent.pump import JobLog
from danlu.agent.redact import Redactor
from danlu.agent.report import Reporter
from danlu.job.plan import Place
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier

PEERS = {"ps": ("h:1",), "worker": ("h:2", "h:3")}


@pytest.fixture
def task(tmp_path):
    """Return a function that gives the meeting of a task, its reporter and its end."""

    def of(name, clock=None):
        role, _, index = name.partition("-")
        files = TaskDir(FileCarrier(tmp_path), 1, name)
        ending = Ending(lambda: Wish(Why.USER, 0.0))
        report = Reporter(files)
        log = JobLog(files.log_writer(1 << 20), Redactor(()))
        more = {"clock": clock} if clock else {}
        place = Place(role, int(index), peers=PEERS)
        return Meeting(files, place, ending, report, log, **more), report, ending

    of.log = lambda name: TaskDir(FileCarrier(tmp_path), 1, name).log_reader().read(0, 999).data
    return of


def test_nobody_begins_before_everybody_is_ready(task):
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


def test_who_waits_can_be_stopped(task):
    meeting, _, ending = task("worker-0")
    ending.ask(Why.JOB, 0.0)

    with pytest.raises(Interrupted):
        meeting.wait()


def test_it_is_told_for_whom_one_waits(task):
    now = iter(range(0, 10_000, 20))
    meeting, _, ending = task("worker-0", clock=lambda: next(now))
    _, report, _ = task("worker-1")
    report.begin("fetch data_url")
    threading.Timer(0.5, ending.ask, (Why.USER, 0.0)).start()

    with pytest.raises(Interrupted):
        meeting.wait()

    assert b"waiting for ps-0 (start), worker-1 (fetch data_url)" in task.log("worker-0")
