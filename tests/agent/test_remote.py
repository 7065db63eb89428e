"""An agent without a server beside it: it leaves with its holder, and tidies up itself."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from danlu.agent.remote import open_files, tidy
from danlu.executors.ray.orphans import end_orphans
from danlu.job.state import Reason
from danlu.job.status import Outcome
from danlu.settings import Settings
from danlu.storage.cache import ContentCache
from danlu.taskdir.files import raise_fence
from danlu.taskdir.handover import Handover
from danlu.taskdir.process import MARK
from danlu.testing.bench import eventually

WEEK = 8 * 24 * 3600


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "node", store=tmp_path / "store", store_shared=True)


@pytest.fixture
def files(settings):
    return open_files(Handover("job", 1, "worker-0", {"SK": "x"}), settings)


def _scratch(settings, task="worker-0"):
    folder = settings.work / "job" / "1" / task
    folder.mkdir(parents=True)
    (folder / "out").write_text("x")
    return folder


def test_secrets_are_handed_and_never_stored(files, tmp_path):
    assert files.take_secrets() == {"SK": "x"}
    files.forget_secrets()
    assert files.take_secrets() == {}


def test_the_scratch_of_a_task_goes_when_its_outputs_are_safe(files, settings):
    mine, other = _scratch(settings), _scratch(settings, "worker-1")
    files.end(Outcome(1, Reason.DONE, 0, 1.0))

    tidy(files, settings, "job")

    assert (mine.exists(), other.exists()) == (False, True)


def test_empty_folders_of_a_task_that_goes_on_stay(files, settings):
    _scratch(settings)
    mounted_on = _scratch(settings, "worker-1") / "newroot" / "usr"
    mounted_on.mkdir(parents=True)
    files.end(Outcome(1, Reason.DONE, 0, 1.0))

    tidy(files, settings, "job")

    assert mounted_on.exists()


def test_nothing_is_left_of_a_job_whose_last_task_has_gone(files, settings):
    _scratch(settings)
    files.end(Outcome(1, Reason.SCRIPT_FAILED, 1, 1.0))

    tidy(files, settings, "job")

    assert list(settings.work.iterdir()) == []


@pytest.mark.parametrize("reason", [None, Reason.STORE_UNAVAILABLE, Reason.DISK_FULL])
def test_outputs_that_reached_no_store_stay_for_the_next_attempt(files, settings, reason):
    mine = _scratch(settings)
    if reason is not None:
        files.end(Outcome(1, reason, None, 1.0))

    tidy(files, settings, "job")

    assert mine.exists()


@pytest.mark.parametrize(("newest", "kept"), [(1, []), (2, ["job"])])
def test_what_the_next_attempt_needs_of_the_cache_stays(files, settings, newest, kept):
    cache = ContentCache(settings.cache, settings.cache_limit)
    cache.pin("job", "0" * 64)
    raise_fence(files.carrier, newest)

    tidy(files, settings, "job")

    assert cache.owners() == kept


def test_what_nobody_came_back_for_goes_after_a_week(files, settings):
    old = settings.work / "lost"
    old.mkdir(parents=True)
    then = time.time() - WEEK
    os.utime(old, (then, then))

    tidy(files, settings, "job")

    assert not old.exists()


def test_an_agent_whose_holder_is_gone_does_nothing(tmp_path):
    command = [sys.executable, "-m", "danlu.agent.remote", "--home", str(tmp_path), "--holder", "1"]

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])


def test_daemons_of_a_lost_attempt_are_ended_and_no_others():
    def daemon(attempt):
        env = {**os.environ, MARK: f"some-job/{attempt}/worker-0"}
        return subprocess.Popen(["sleep", "60"], env=env)

    older, same = daemon(1), daemon(2)
    eventually(lambda: b"sleep" in Path(f"/proc/{same.pid}/cmdline").read_bytes())

    end_orphans("some-job", 2)

    assert older.wait(10) == -9
    assert same.poll() is None
    same.kill()
    same.wait()
