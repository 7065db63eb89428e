"""Outputs on their way to a store that is not always there."""

import math
import threading

import pytest

from danlu.agent.control import Interrupted, StopReason, StopRequest, StopSignal
from danlu.agent.outputs import OutputSync
from danlu.agent.reports.log_capture import JobLog, Redactor
from danlu.agent.reports.progress import Reporter
from danlu.errors import StorageError
from danlu.job.plan import Push
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.taskdir.files import TaskDir
from danlu.taskdir.job_files import LocalJobFiles

ITEM = Push("/out", "obs://bucket/out", "train_url")


class Moody(FileStorage):
    """A storage that refuses so many writes; each refusal may take its time."""

    refusals = 0
    on_refusal = staticmethod(lambda: None)

    def write(self, key, data):
        if self.refusals:
            self.refusals -= 1
            self.on_refusal()
            raise StorageError("the store does not answer")
        return super().write(key, data)


class Stage:
    def __init__(self, folder):
        self.now, self.step = 0.0, 10.0
        self.out = folder / "out"
        self.out.mkdir()
        self.storage = Moody(folder / "store", plain=False)
        files = TaskDir(LocalJobFiles(folder / "job"), 1, "worker-0")
        self.files = files
        self.stop_signal = StopSignal(lambda: StopRequest(StopReason.MACHINE, 30))
        self.mirror = OutputSync(
            self,
            {ITEM: self.out},
            {},
            self.stop_signal,
            Reporter(files),
            JobLog(files.log_writer(1 << 20), Redactor([])),
            interval=0.01,
            scratch=folder / "packed",
            clock=self.clock,
        )

    def limit(self, left):
        self.left = left

    def at(self, uri):
        return Location(self.storage, "out", uri)

    def clock(self):
        self.now += self.step  # every read of the clock advances it, so that no test waits
        return self.now

    def stored(self):
        return sorted(entry.key for entry in self.storage.list(""))

    def log(self):
        return self.files.log_reader().read(0).data.decode()


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_store_that_comes_back_in_time_loses_nothing(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 3

    stage.mirror.finish(600)

    assert stage.stored() == ["out/model"]
    assert stage.mirror.pushed == (1, 7)
    assert "outputs could not be stored, retrying until " in stage.log()
    assert ": the store does not answer" in stage.log()


def test_last_error_is_reported_when_time_is_over(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 10_000
    stage.step = 100

    with pytest.raises(StorageError, match="does not answer"):
        stage.mirror.finish(600)


def test_nothing_is_written_when_another_attempt_has_begun(stage):
    (stage.out / "model").write_text("weights")
    stage.stop_signal.request_stop(StopReason.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.mirror.finish(600)

    assert stage.stored() == []


def test_wait_for_store_ends_when_another_attempt_begins(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 10_000
    stage.storage.on_refusal = lambda: stage.stop_signal.request_stop(StopReason.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.mirror.finish(600)


def test_stop_of_user_does_not_end_last_push(stage):
    (stage.out / "model").write_text("weights")
    stage.stop_signal.request_stop(StopReason.USER, 1)

    stage.mirror.finish(600)

    assert stage.stored() == ["out/model"]


def test_wait_for_store_ends_with_the_grace(stage):
    """The storage itself would wait for a quarter of an hour, with every request."""
    (stage.out / "model").write_text("x")
    left = []
    assert stage.left() == math.inf  # while the script runs
    stage.storage.refusals = 1
    stage.storage.on_refusal = lambda: left.append(stage.left())

    stage.mirror.finish(budget=600)

    assert 0 < left[0] <= 600
    assert stage.stored() == ["out/model"]


def test_wait_inside_storage_ends_when_another_attempt_begins(stage):
    stage.stop_signal.request_stop(StopReason.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.left()


def test_sync_waiting_for_its_store_closes_soon(stage, until):
    (stage.out / "model").write_text("x")
    waits, down = [], threading.Event()

    def wait():
        down.set()
        until(lambda: stage.left() < math.inf)  # then close() has been called
        waits.append(stage.left())

    stage.storage.refusals = 1
    stage.storage.on_refusal = wait
    stage.step = 0.001
    stage.mirror.start()
    assert down.wait(100)

    stage.mirror.close()

    assert waits[0] <= 10


def test_failing_sync_is_logged_once_and_retried(stage, until):
    stage.storage.refusals = 3
    (stage.out / "model").write_text("weights")

    stage.mirror.start()

    until(lambda: stage.stored() == ["out/model"])
    stage.mirror.close()
    assert stage.log().count("outputs are not synchronized at the moment") == 1
