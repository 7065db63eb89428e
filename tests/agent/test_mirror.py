"""Outputs on their way to a store that is not always there."""

import math
import threading

import pytest

from danlu.agent.ending import Ending, Interrupted, Why, Wish
from danlu.agent.mirror import Mirror
from danlu.agent.pump import JobLog
from danlu.agent.redact import Redactor
from danlu.agent.report import Reporter
from danlu.errors import StorageError
from danlu.job.plan import Push
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location
from danlu.taskdir.files import TaskDir
from danlu.taskdir.local import FileCarrier

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
        files = TaskDir(FileCarrier(folder / "job"), 1, "worker-0")
        self.files = files
        self.ending = Ending(lambda: Wish(Why.MACHINE, 30))
        self.mirror = Mirror(
            self,
            {ITEM: self.out},
            {},
            self.ending,
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
        self.now += self.step  # every look at the clock takes its time: nobody waits in a test
        return self.now

    def stored(self):
        return sorted(entry.key for entry in self.storage.list(""))

    def log(self):
        return self.files.log_reader().read(0).data.decode()


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_a_store_that_comes_back_in_time_loses_nothing(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 3

    stage.mirror.complete(600)

    assert stage.stored() == ["out/model"]
    assert stage.mirror.pushed == (1, 7)
    assert "outputs could not be stored, trying again: the store does not answer" in stage.log()


def test_the_last_error_is_told_when_the_time_is_over(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 10_000
    stage.step = 100

    with pytest.raises(StorageError, match="does not answer"):
        stage.mirror.complete(600)


def test_nothing_is_written_when_another_attempt_has_begun(stage):
    (stage.out / "model").write_text("weights")
    stage.ending.ask(Why.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.mirror.complete(600)

    assert stage.stored() == []


def test_a_wait_for_the_store_ends_when_another_attempt_begins(stage):
    (stage.out / "model").write_text("weights")
    stage.storage.refusals = 10_000
    stage.storage.on_refusal = lambda: stage.ending.ask(Why.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.mirror.complete(600)


def test_a_stop_of_the_user_does_not_end_the_last_push(stage):
    (stage.out / "model").write_text("weights")
    stage.ending.ask(Why.USER, 1)

    stage.mirror.complete(600)

    assert stage.stored() == ["out/model"]


def test_a_store_that_is_down_is_waited_for_no_longer_than_the_end_may_take(stage):
    """The storage itself would wait for a quarter of an hour, with every request."""
    (stage.out / "model").write_text("x")
    left = []
    assert stage.left() == math.inf  # while the script runs
    stage.storage.refusals = 1
    stage.storage.on_refusal = lambda: left.append(stage.left())

    stage.mirror.complete(budget=600)

    assert 0 < left[0] <= 600
    assert stage.stored() == ["out/model"]


def test_a_wait_inside_the_storage_ends_when_another_attempt_begins(stage):
    stage.ending.ask(Why.FENCED, 0)

    with pytest.raises(Interrupted):
        stage.left()


def test_a_mirror_that_waits_for_its_store_is_closed_soon(stage, until):
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
    assert down.wait(30)

    stage.mirror.close()

    assert waits[0] <= 10


def test_a_failing_mirror_says_so_once_and_goes_on(stage, until):
    stage.storage.refusals = 3
    (stage.out / "model").write_text("weights")

    stage.mirror.start()

    until(lambda: stage.stored() == ["out/model"])
    stage.mirror.close()
    assert stage.log().count("outputs are not mirrored at the moment") == 1
