"""An agent without a server beside it: it leaves with its holder, and tidies up itself."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from danlu.agent.context import Workspace
from danlu.agent.kept_files import find_unstored, keep_files
from danlu.agent.remote import open_files, tidy
from danlu.agent.reports.log_capture import JobLog, Redactor
from danlu.executors.ray.executor import Directories
from danlu.job.plan import Command, Fetch, Place, Push, Task
from danlu.job.state import Reason
from danlu.job.status import Outcome
from danlu.settings import Settings
from danlu.storage.cache import ContentCache
from danlu.taskdir.files import raise_fence
from danlu.taskdir.handover import Handover

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


def test_scratch_is_removed_after_outputs_are_safe(files, settings):
    mine, other = _scratch(settings), _scratch(settings, "worker-1")
    files.write_outcome(Outcome(1, Reason.DONE, 0, 1.0))

    tidy(files, settings, "job")

    assert (mine.exists(), other.exists()) == (False, True)


def test_empty_folders_of_task_that_goes_on_stay(files, settings):
    _scratch(settings)
    mounted_on = _scratch(settings, "worker-1") / "newroot" / "usr"
    mounted_on.mkdir(parents=True)
    files.write_outcome(Outcome(1, Reason.DONE, 0, 1.0))

    tidy(files, settings, "job")

    assert mounted_on.exists()


def test_job_leaves_nothing_after_its_last_task(files, settings):
    _scratch(settings)
    files.write_outcome(Outcome(1, Reason.SCRIPT_FAILED, 1, 1.0))

    tidy(files, settings, "job")

    assert list(settings.work.iterdir()) == []


@pytest.mark.parametrize("reason", [None, Reason.STORE_UNAVAILABLE, Reason.DISK_FULL])
def test_unstored_outputs_stay_for_next_attempt(files, settings, reason):
    mine = _scratch(settings)
    if reason is not None:
        files.write_outcome(Outcome(1, reason, None, 1.0))

    tidy(files, settings, "job")

    assert mine.exists()


@pytest.mark.parametrize(("newest", "kept"), [(1, []), (2, ["job"])])
def test_what_next_attempt_needs_of_cache_stays(files, settings, newest, kept):
    cache = ContentCache(settings.cache, settings.cache_limit)
    cache.pin("job", "0" * 64)
    raise_fence(files.store, newest)

    tidy(files, settings, "job")

    assert cache.owners() == kept


def test_unclaimed_files_are_removed_after_a_week(files, settings):
    old = settings.work / "lost"
    old.mkdir(parents=True)
    then = time.time() - WEEK
    os.utime(old, (then, then))

    tidy(files, settings, "job")

    assert not old.exists()


def test_only_copy_of_output_outlives_every_tidying(files, settings):
    folder = _scratch(settings)
    workspace = _workspace(settings)
    (workspace.below_root("/out")).mkdir(parents=True)
    (workspace.below_root("/out") / "model.h5").write_text("a model")
    (left,) = find_unstored(workspace, "node-7")
    files.write_outcome(Outcome(1, Reason.STOPPED_BY_USER, None, 1.0, unstored=(left,)))
    tidy(files, settings, "job")
    then = time.time() - WEEK
    os.utime(settings.work / "job", (then, then))

    tidy(files, settings, "job")

    assert (left.host, left.what) == ("node-7", "train_url")
    assert (folder / "root/out/model.h5").read_text() == "a model"


def test_kept_files_are_where_the_task_directories_are(files, settings, tmp_path):
    workspace = _workspace(settings)
    code = workspace.below_root("/code")
    fetched = tmp_path / "fetched"
    for folder in (code, fetched):
        folder.mkdir(parents=True)
        (folder / "train.py").write_text("print(1)")
    workspace.fetched["/code"] = fetched
    (code / "checkpoint").write_text("newest")
    (code / "large.txt").write_bytes(bytes(100))
    tight = replace(settings, keep_limit=50)
    log = JobLog(files.log_writer(1 << 20), Redactor([]))

    reported = keep_files(files, tight, workspace, (), log)

    assert (reported.files, reported.size, reported.models) == (1, 6, 1)
    (keeping,) = Directories(settings).keepings("job")
    assert [file.path for file in keeping.listed.files] == ["checkpoint"]
    assert keeping.read("checkpoint", 0, 100) == b"newest"
    keeping.remove({"checkpoint"})
    assert keeping.read("checkpoint", 0, 100) is None
    assert keeping.listed.removed == 1
    assert Directories(settings).keepings("another") == []


def _workspace(settings):
    command = Command(
        run="/code/train.py",
        cwd="/code",
        fetch=(Fetch("obs://bucket/code", "/code", "code"),),
        push=(Push("/out", "obs://bucket/out", "train_url"),),
    )
    return Workspace(settings.work, Task("job", "a-job", "kdl", 1, Place("worker", 0), command))


def test_an_agent_whose_holder_is_gone_does_nothing(tmp_path):
    command = [sys.executable, "-m", "danlu.agent.remote", "--home", str(tmp_path), "--holder", "1"]

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)

    assert (done.returncode, list(tmp_path.iterdir())) == (1, [])
