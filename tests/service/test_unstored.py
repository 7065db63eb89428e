"""Outputs that are in no store: remembered over attempts, guarded, stored on request."""

from dataclasses import replace

import pytest

from danlu.errors import Conflict, DanluError, OnlyCopy, Refused
from danlu.job.kept_files import KeptFile, KeptFiles
from danlu.job.state import JobState, Reason
from danlu.job.status import Disk, Failure, Unstored
from danlu.service.diagnosis.cause import explain

DAY = 24 * 3600.0
OUT = "obs://bucket/out"


@pytest.fixture
def left(tmp_path):
    folder = tmp_path / "outputs"
    folder.mkdir()
    (folder / "model.h5").write_text("a trained model")
    return Unstored("worker-0", "train_url", OUT, str(folder))


@pytest.fixture
def begun(platform, request_of):
    def begin(**changes):
        job = platform.service.submit({**request_of, "train_url": OUT, "retries": 0, **changes})
        platform.tick()
        return job

    return begin


@pytest.fixture
def ended(platform, begun, left):
    def end(reason=Reason.STORE_UNAVAILABLE, **changes):
        job = begun()
        changes = {"unstored": (left,), **changes}
        platform.executor.end(job.id, 1, "worker-0", reason=reason, **changes)
        platform.tick()
        return platform.service.get(job.id)

    return end


@pytest.mark.parametrize(
    "reason", [Reason.STORE_UNAVAILABLE, Reason.SCRIPT_FAILED, Reason.STOPPED_BY_USER]
)
def test_scratch_with_only_copy_stays(platform, ended, left, reason):
    job = ended(reason)

    assert job.unstored == (left,)
    assert platform.executor.cleared == []
    platform.tick(400 * DAY)
    assert platform.executor.removed == []


def test_job_with_only_copy_needs_discard(platform, ended, left):
    job = ended()
    with pytest.raises(OnlyCopy, match=left.path):
        platform.service.remove(job.id)
    assert platform.executor.removed == []

    platform.service.remove(job.id, discard=True)

    assert platform.executor.removed == [job.id]


def test_what_agent_could_not_report_is_looked_for(platform, begun, left):
    job = begun()
    platform.executor.left = [left]
    platform.executor.lose(job.id, 1, "worker-0")
    platform.tick()

    assert platform.service.get(job.id).unstored == (left,)


def test_attempt_without_stored_outputs_keeps_previous_mark(platform, begun, left):
    job = begun(retries=3)
    failed = {"reason": Reason.STORE_UNAVAILABLE, "unstored": (left,)}
    platform.executor.end(job.id, 1, "worker-0", **failed)
    platform.tick()
    assert platform.service.get(job.id).unstored == (left,)
    platform.tick(3600)
    platform.executor.end(job.id, 2, "worker-0", reason=Reason.FETCH_FAILED, stored=False)
    platform.tick()
    assert platform.service.get(job.id).unstored == (left,)


def test_attempt_with_stored_outputs_clears_previous_mark(platform, begun, left):
    job = begun(retries=3)
    failed = {"reason": Reason.STORE_UNAVAILABLE, "unstored": (left,)}
    platform.executor.end(job.id, 1, "worker-0", **failed)
    platform.tick()
    platform.tick(3600)
    platform.executor.end(job.id, 2, "worker-0")
    platform.tick()

    ended = platform.service.get(job.id)
    assert (ended.state, ended.unstored) == (JobState.SUCCEEDED, ())


def test_outputs_are_stored_on_request_freeing_scratch(platform, ended):
    job = ended()

    assert platform.service.store_again(job.id, wait=60).error == ""

    assert platform.stores.at(OUT).storage.read("out/model.h5") == b"a trained model"
    stored = platform.service.get(job.id)
    assert stored.unstored == ()
    assert stored.stored_later
    assert platform.executor.cleared == [job.id]
    assert not platform.service.store_again(job.id).running
    platform.service.remove(job.id)


@pytest.mark.parametrize("reason", [Reason.DISK_FULL, Reason.STORE_UNAVAILABLE])
def test_stored_job_has_no_upload_hint(platform, begun, left, tmp_path, reason):
    out = f"file://{tmp_path}/disk/out"
    job = begun(train_url=out)
    disk = Disk("/disk", 4096, 0 if reason is Reason.STORE_UNAVAILABLE else -1)
    full = Failure(disk_full="/disk/out/model.h5", disk=disk, exit_code=0)
    item = replace(left, uri=out)
    platform.executor.end(job.id, 1, "worker-0", reason=reason, failure=full, unstored=(item,))
    platform.tick()
    before = explain(platform.service.get(job.id))
    if reason is Reason.DISK_FULL:
        assert "The disk mounted at /disk had 4.1 kB free." in before.en
        assert "/disk" in before.zh
        assert "mounted at /disk, then run `danlu store retry" in before.card.en
    assert before.next.startswith("danlu store retry")

    assert platform.service.store_again(job.id, wait=60).error == ""

    cause = explain(platform.service.get(job.id))
    assert "Its outputs were stored later" in cause.en
    assert "mounted" not in cause.en
    assert cause.card is None
    assert cause.next == f"danlu store ls -r {out}"


def test_an_output_to_be_packed_is_packed_again(platform, ended, left):
    job = ended(unstored=(replace(left, pack="model.tar.gz"),))

    assert platform.service.store_again(job.id, wait=60).error == ""

    keys = [entry.key for entry in platform.stores.at(OUT).storage.list("out/")]
    assert keys == ["out/model.tar.gz"]


def test_upload_that_fails_reports_why_and_keeps_everything(platform, ended, left):
    job = ended()
    bucket = platform.settings.store / "buckets/bucket"
    bucket.rename(bucket.with_name("away"))
    bucket.write_text("not a folder")

    upload = platform.service.store_again(job.id, wait=60)

    assert upload.error
    assert platform.service.get(job.id).unstored == (left,)
    assert platform.executor.cleared == []


def test_a_living_job_stores_its_outputs_itself(platform, begun):
    job = begun()

    with pytest.raises(Conflict, match="stores its outputs itself"):
        platform.service.store_again(job.id)


def test_outputs_of_another_machine_are_only_named(platform, ended, left):
    job = ended(unstored=(replace(left, host="node-7"),))

    with pytest.raises(Refused, match=f"{left.path} on node-7"):
        platform.service.store_again(job.id)


# Files of a working directory.


def keep(platform, job, *files, until=None):
    tasks = platform.executor.files(job.id, 1, "worker-0")
    folder = platform.executor.folder / job.id / "1/worker-0/kept"
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(file.size))
    tasks.write_kept(KeptFiles(files, platform.now + 7 * DAY if until is None else until))
    return folder


def done(platform, begun):
    job = begun()
    platform.executor.end(job.id, 1, "worker-0")
    platform.tick()
    return job


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_expired_files_are_removed_except_only_model(platform, begun):
    job = done(platform, begun)
    files = KeptFile("log.txt", 10, 1.0), KeptFile("model.h5", 10, 1.0, only=True)
    folder = keep(platform, job, *files)
    platform.tick(6 * DAY)
    assert names(folder) == ["log.txt", "model.h5"]

    platform.tick(2 * DAY)

    assert names(folder) == ["model.h5"]
    found = platform.service.files.kept(job.id)
    assert (found.kept.files, found.kept.models, found.removed) == (1, 1, 1)
    platform.tick(400 * DAY)
    assert names(folder) == ["model.h5"]
    assert platform.executor.removed == []
    with pytest.raises(OnlyCopy, match="1 file of a model"):
        platform.service.remove(job.id)


def test_oldest_kept_files_are_removed_first(platform, begun):
    platform.settle(keep_limit=25)
    job = done(platform, begun)
    old, new = KeptFile("old", 10, 1.0), KeptFile("new", 10, 2.0)
    folder = keep(platform, job, old, new, KeptFile("model.h5", 10, 0.0, only=True))

    platform.tick(3601)

    assert names(folder) == ["model.h5", "new"]


def test_outputs_and_kept_files_are_listed_and_read(platform, begun):
    job = done(platform, begun)
    platform.put(f"{OUT}/model/saved_model.pb", b"0123456789")
    platform.put(f"{OUT}/.danlu/previous/x", b"not the script's")
    keep(platform, job, KeptFile("checkpoint/checkpoint", 3, 1.0, only=True))

    found = platform.service.files.listed(job.id)

    assert [file.path for file in found.files] == [
        "train_url/model/saved_model.pb",
        "working-directory/checkpoint/checkpoint",
    ]
    output, kept = found.files
    read = platform.service.files.read
    assert read(job.id, output.source, output.key, 4) == b"456789"
    assert read(job.id, kept.source, kept.key, 0) == bytes(3)


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("kept/1/worker-0", "../kept.json"),
        ("kept/1/worker-0", "/etc/passwd"),
        ("kept/../worker-0", "x"),
        ("train_url", "../../data/a.csv"),
        ("code", "train.py"),
    ],
)
def test_nothing_beside_files_of_job_is_read(platform, begun, source, key):
    job = done(platform, begun)
    keep(platform, job, KeptFile("x", 3, 1.0))

    with pytest.raises(DanluError):
        platform.service.files.read(job.id, source, key, 0)


def test_a_link_among_kept_files_leads_nowhere(platform, begun, tmp_path):
    job = done(platform, begun)
    folder = keep(platform, job, KeptFile("x", 3, 1.0))
    (tmp_path / "secret").write_text("token")
    (folder / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(DanluError):
        platform.service.files.read(job.id, "kept/1/worker-0", "link", 0)
