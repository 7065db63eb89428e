"""What an agent says and hears while its task lives."""

import threading

import pytest

from danlu.agent.ending import Ending, Interrupted, Why, Wish
from danlu.agent.heartbeat import Beating
from danlu.job.plan import Limits
from danlu.taskdir.files import TaskDir, raise_fence
from danlu.taskdir.local import FileCarrier


class Disk(FileCarrier):
    trouble: OSError | None = None

    def put(self, name, data, *, private=False):
        if self.trouble is not None:
            raise self.trouble
        super().put(name, data, private=private)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Stage:
    def __init__(self, folder):
        self.disk = Disk(folder)
        self.files = TaskDir(self.disk, 1, "worker-0")
        self.ending = Ending(lambda: Wish(Why.MACHINE, 30))
        self.clock = Clock()
        self.rooms = 0
        self.beating = Beating(
            self.files,
            Limits(lost_after=60),
            self.ending,
            make_room=self.make_room,
            clock=self.clock,
        )

    def make_room(self) -> bool:
        self.rooms += 1
        return True


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_every_beat_has_a_greater_number(stage):
    stage.beating.beat()
    first = stage.files.heartbeat().seq
    stage.beating.beat()

    assert stage.files.heartbeat().seq == first + 1
    assert stage.ending.wish is None


def test_a_request_to_stop_is_heard_with_its_grace(stage):
    stage.files.request_stop(12.5)
    stage.beating.beat()

    assert stage.ending.wish == Wish(Why.USER, 12.5)


def test_the_end_of_a_job_is_no_wish_of_its_user(stage):
    stage.files.request_stop(12.5, "worker-1 ended first: script failed")
    stage.beating.beat()
    assert stage.ending.wish == Wish(Why.JOB, 12.5)

    stage.files.request_stop(12.5)
    stage.beating.beat()

    assert stage.ending.wish == Wish(Why.USER, 12.5)


def test_a_shorter_grace_is_heard_too_and_a_longer_one_not(stage):
    for grace in (30, 5, 60):
        stage.files.request_stop(grace)
        stage.beating.beat()

    assert stage.ending.wish == Wish(Why.USER, 5)


def test_a_newer_attempt_outweighs_everything(stage):
    stage.files.request_stop(5)
    raise_fence(stage.disk, 2)
    stage.beating.beat()

    assert stage.ending.wish == Wish(Why.FENCED, 0)
    assert stage.ending.wish.why.silent


def test_silence_within_its_time_is_forgiven(stage):
    stage.beating.beat()
    stage.disk.trouble = OSError(5, "Input/output error")
    stage.clock.now += 59
    stage.beating.beat()
    stage.disk.trouble = None
    stage.beating.beat()
    stage.disk.trouble = OSError(5, "Input/output error")
    stage.clock.now += 59
    stage.beating.beat()

    assert stage.ending.wish is None


def test_whoever_cannot_report_for_long_gives_up(stage):
    stage.disk.trouble = OSError(30, "Read-only file system")
    stage.clock.now += 61
    stage.beating.beat()

    assert stage.ending.wish == Wish(Why.CUT_OFF, 0)


def test_a_full_disk_is_given_our_reserve(stage):
    stage.disk.trouble = OSError(28, "No space left on device")
    stage.beating.beat()

    assert (stage.rooms, stage.ending.wish) == (1, None)
    stage.clock.now += 61
    stage.beating.beat()
    assert stage.beating.lost_to_full_disk


def test_a_stop_that_cannot_be_read_is_not_the_end_of_the_thread(stage):
    (stage.disk.folder / "1/worker-0").mkdir(parents=True)
    (stage.disk.folder / "1/worker-0/stop.json").write_bytes(b"{")
    stage.beating.beat()

    assert stage.ending.wish is None


def test_work_is_not_begun_when_the_end_is_wished(stage):
    stage.ending.ask(Why.USER, 1)

    with pytest.raises(Interrupted), stage.ending.interruptible():
        pytest.fail("it was begun")


def test_a_beat_that_never_comes_back_ends_the_script_in_time(stage):
    """As where the network is cut: a request may wait longer than others wait for us."""
    held, going = threading.Event(), threading.Event()

    def put(name, data, *, private=False):
        going.set()
        held.wait(60)

    stage.disk.put = put
    beat = threading.Thread(target=stage.beating.beat)
    beat.start()
    going.wait(60)
    for _ in range(61):
        stage.clock.now += 1
        before = stage.ending.wish
        stage.beating.look(1)

    assert (before, stage.ending.wish) == (None, Wish(Why.CUT_OFF, 0))
    held.set()
    beat.join()


def test_an_agent_that_was_stopped_beats_before_it_gives_up(stage):
    stage.clock.now += 3600
    stage.beating.look(3600)
    assert stage.ending.wish is None

    stage.beating.beat()
    stage.beating.look(1)

    assert stage.ending.wish is None


def test_silence_is_counted_from_the_beginning_of_a_beat(stage):
    """Its number may have been read at once, and its answer be long on the way."""
    stage.clock.now += 50
    put = stage.disk.put

    def slowly(name, data, *, private=False):
        put(name, data, private=private)
        stage.clock.now += 30

    stage.disk.put = slowly
    stage.beating.beat()
    stage.clock.now += 31
    for _ in range(61):
        stage.beating.look(1)

    assert stage.ending.wish == Wish(Why.CUT_OFF, 0)
