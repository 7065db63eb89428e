"""Heartbeats and stop requests of a running agent."""

import threading

import pytest

from danlu.agent.control import HeartbeatThread, Interrupted, StopReason, StopRequest, StopSignal
from danlu.job.plan import Limits
from danlu.taskdir.files import TaskDir, raise_fence
from danlu.taskdir.job_files import LocalJobFiles


class Disk(LocalJobFiles):
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
        self.stop_signal = StopSignal(lambda: StopRequest(StopReason.MACHINE, 30))
        self.clock = Clock()
        self.freed = 0
        self.beating = HeartbeatThread(
            self.files,
            Limits(lost_after=60),
            self.stop_signal,
            free_space=self.free_space,
            clock=self.clock,
        )

    def free_space(self) -> bool:
        self.freed += 1
        return True


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_every_beat_has_a_greater_number(stage):
    stage.beating.write_heartbeat()
    first = stage.files.heartbeat().seq
    stage.beating.write_heartbeat()

    assert stage.files.heartbeat().seq == first + 1
    assert stage.stop_signal.request is None


def test_stop_request_is_received_with_its_grace(stage):
    stage.files.request_stop(12.5)
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request == StopRequest(StopReason.USER, 12.5)


def test_end_of_job_is_no_stop_by_user(stage):
    stage.files.request_stop(12.5, "worker-1 ended first: script failed")
    stage.beating.write_heartbeat()
    assert stage.stop_signal.request == StopRequest(StopReason.JOB, 12.5)

    stage.files.request_stop(12.5)
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request == StopRequest(StopReason.USER, 12.5)


def test_shorter_grace_replaces_a_longer_one(stage):
    for grace in (30, 5, 60):
        stage.files.request_stop(grace)
        stage.beating.write_heartbeat()

    assert stage.stop_signal.request == StopRequest(StopReason.USER, 5)


def test_a_newer_attempt_outweighs_everything(stage):
    stage.files.request_stop(5)
    raise_fence(stage.disk, 2)
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request == StopRequest(StopReason.FENCED, 0)
    assert stage.stop_signal.request.why.forbids_writes


def test_silence_within_its_time_is_forgiven(stage):
    stage.beating.write_heartbeat()
    stage.disk.trouble = OSError(5, "Input/output error")
    stage.clock.now += 59
    stage.beating.write_heartbeat()
    stage.disk.trouble = None
    stage.beating.write_heartbeat()
    stage.disk.trouble = OSError(5, "Input/output error")
    stage.clock.now += 59
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request is None


def test_agent_that_cannot_report_stops_its_task(stage):
    stage.disk.trouble = OSError(30, "Read-only file system")
    stage.clock.now += 61
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request == StopRequest(StopReason.CUT_OFF, 0)


def test_a_full_disk_is_given_our_reserve(stage):
    stage.disk.trouble = OSError(28, "No space left on device")
    stage.beating.write_heartbeat()

    assert (stage.freed, stage.stop_signal.request) == (1, None)
    stage.clock.now += 61
    stage.beating.write_heartbeat()
    assert stage.beating.lost_to_full_disk


def test_unreadable_stop_is_not_end_of_thread(stage):
    (stage.disk.folder / "1/worker-0").mkdir(parents=True)
    (stage.disk.folder / "1/worker-0/stop.json").write_bytes(b"{")
    stage.beating.write_heartbeat()

    assert stage.stop_signal.request is None


def test_no_work_begins_after_a_stop_request(stage):
    stage.stop_signal.request_stop(StopReason.USER, 1)

    with pytest.raises(Interrupted), stage.stop_signal.interruptible():
        pytest.fail("it was begun")


def test_hanging_heartbeat_ends_script_in_time(stage):
    """As where the network is cut: a request may wait longer than others wait for us."""
    held, going = threading.Event(), threading.Event()

    def put(name, data, *, private=False):
        going.set()
        held.wait(60)

    stage.disk.put = put
    write_heartbeat = threading.Thread(target=stage.beating.write_heartbeat)
    write_heartbeat.start()
    going.wait(60)
    for _ in range(61):
        stage.clock.now += 1
        before = stage.stop_signal.request
        stage.beating.add_silence(1)

    assert (before, stage.stop_signal.request) == (None, StopRequest(StopReason.CUT_OFF, 0))
    held.set()
    write_heartbeat.join()


def test_stopped_agent_beats_before_it_gives_up(stage):
    stage.clock.now += 3600
    stage.beating.add_silence(3600)
    assert stage.stop_signal.request is None

    stage.beating.write_heartbeat()
    stage.beating.add_silence(1)

    assert stage.stop_signal.request is None


def test_silence_is_counted_from_beginning_of_beat(stage):
    """Its number may have been read at once, and its answer be long on the way."""
    stage.clock.now += 50
    put = stage.disk.put

    def slowly(name, data, *, private=False):
        put(name, data, private=private)
        stage.clock.now += 30

    stage.disk.put = slowly
    stage.beating.write_heartbeat()
    stage.clock.now += 31
    for _ in range(61):
        stage.beating.add_silence(1)

    assert stage.stop_signal.request == StopRequest(StopReason.CUT_OFF, 0)
