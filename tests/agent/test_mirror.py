"""Outputs on their way to a store that is not always there."""

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


def test_a_failing_mirror_says_so_once_and_goes_on(stage, until):
    stage.storage.refusals = 3
    (stage.out / "model").write_text("weights")

    stage.mirror.start()

    until(lambda: stage.stored() == ["out/model"])
    stage.mirror.close()
    assert stage.log().count("outputs are not mirrored at the moment") == 1
