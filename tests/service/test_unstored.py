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
def begun(house, request_of):
    def begin(**changes):
        job = house.service.submit({**request_of, "train_url": OUT, "retries": 0, **changes})
        house.tick()
        return job

    return begin


@pytest.fixture
def ended(house, begun, left):
    def end(reason=Reason.STORE_UNAVAILABLE, **changes):
        job = begun()
        changes = {"unstored": (left,), **changes}
        house.executor.end(job.id, 1, "worker-0", reason=reason, **changes)
        house.tick()
        return house.service.get(job.id)

    return end


@pytest.mark.parametrize(
    "reason", [Reason.STORE_UNAVAILABLE, Reason.SCRIPT_FAILED, Reason.STOPPED_BY_USER]
)
def test_scratch_with_only_copy_stays_whatever_job_ended_of(house, ended, left, reason):
    job = ended(reason)

    assert job.unstored == (left,)
    assert house.executor.cleared == []
    house.tick(400 * DAY)
    assert house.executor.removed == []


def test_job_with_only_copy_needs_discard(house, ended, left):
    job = ended()
    with pytest.raises(OnlyCopy, match=left.path):
        house.service.remove(job.id)
    assert house.executor.removed == []

    house.service.remove(job.id, discard=True)

    assert house.executor.removed == [job.id]


def test_what_agent_could_not_report_is_looked_for(house, begun, left):
    job = begun()
    house.executor.left = [left]
    house.executor.lose(job.id, 1, "worker-0")
    house.tick()

    assert house.service.get(job.id).unstored == (left,)


def test_attempt_that_stored_nothing_leaves_mark_of_one_before_it(house, begun, left):
    job = begun(retries=3)
    failed = {"reason": Reason.STORE_UNAVAILABLE, "unstored": (left,)}
    house.executor.end(job.id, 1, "worker-0", **failed)
    house.tick()
    assert house.service.get(job.id).unstored == (left,)
    house.tick(3600)
    house.executor.end(job.id, 2, "worker-0", reason=Reason.FETCH_FAILED, stored=False)
    house.tick()
    assert house.service.get(job.id).unstored == (left,)


def test_attempt_that_stored_everything_clears_mark_of_one_before_it(house, begun, left):
    job = begun(retries=3)
    failed = {"reason": Reason.STORE_UNAVAILABLE, "unstored": (left,)}
    house.executor.end(job.id, 1, "worker-0", **failed)
    house.tick()
    house.tick(3600)
    house.executor.end(job.id, 2, "worker-0")
    house.tick()

    ended = house.service.get(job.id)
    assert (ended.state, ended.unstored) == (JobState.SUCCEEDED, ())


def test_outputs_are_stored_on_request_and_scratch_is_given_back(house, ended):
    job = ended()

    assert house.service.store_again(job.id, wait=60).error == ""

    assert house.stores.at(OUT).storage.read("out/model.h5") == b"a trained model"
    stored = house.service.get(job.id)
    assert stored.unstored == ()
    assert stored.stored_later
    assert house.executor.cleared == [job.id]
    assert not house.service.store_again(job.id).running
    house.service.remove(job.id)


@pytest.mark.parametrize("reason", [Reason.DISK_FULL, Reason.STORE_UNAVAILABLE])
def test_stored_job_has_no_upload_hint(house, begun, left, tmp_path, reason):
    out = f"file://{tmp_path}/disk/out"
    job = begun(train_url=out)
    disk = Disk("/disk", 4096, 0 if reason is Reason.STORE_UNAVAILABLE else -1)
    full = Failure(disk_full="/disk/out/model.h5", disk=disk, exit_code=0)
    item = replace(left, uri=out)
    house.executor.end(job.id, 1, "worker-0", reason=reason, failure=full, unstored=(item,))
    house.tick()
    before = explain(house.service.get(job.id))
    if reason is Reason.DISK_FULL:
        assert "The disk mounted at /disk had 4.1 kB free." in before.en
        assert "/disk" in before.zh
        assert "mounted at /disk, then run `danlu store retry" in before.card.en
    assert before.next.startswith("danlu store retry")

    assert house.service.store_again(job.id, wait=60).error == ""

    cause = explain(house.service.get(job.id))
    assert "Its outputs were stored later" in cause.en
    assert "mounted" not in cause.en
    assert cause.card is None
    assert cause.next == f"danlu store ls -r {out}"


def test_an_output_to_be_packed_is_packed_again(house, ended, left):
    job = ended(unstored=(replace(left, pack="model.tar.gz"),))

    assert house.service.store_again(job.id, wait=60).error == ""

    keys = [entry.key for entry in house.stores.at(OUT).storage.list("out/")]
    assert keys == ["out/model.tar.gz"]


def test_upload_that_fails_reports_why_and_keeps_everything(house, ended, left):
    job = ended()
    bucket = house.settings.store / "buckets/bucket"
    bucket.rename(bucket.with_name("away"))
    bucket.write_text("not a folder")

    upload = house.service.store_again(job.id, wait=60)

    assert upload.error
    assert house.service.get(job.id).unstored == (left,)
    assert house.executor.cleared == []


def test_a_living_job_stores_its_outputs_itself(house, begun):
    job = begun()

    with pytest.raises(Conflict, match="stores its outputs itself"):
        house.service.store_again(job.id)


def test_outputs_on_another_machine_are_named_and_not_stored(house, ended, left):
    job = ended(unstored=(replace(left, host="node-7"),))

    with pytest.raises(Refused, match=f"{left.path} on node-7"):
        house.service.store_again(job.id)


# Files of a working directory.


def keep(house, job, *files, until=None):
    tasks = house.executor.files(job.id, 1, "worker-0")
    folder = house.executor.folder / job.id / "1/worker-0/kept"
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(file.size))
    tasks.write_kept(KeptFiles(files, house.now + 7 * DAY if until is None else until))
    return folder


def done(house, begun):
    job = begun()
    house.executor.end(job.id, 1, "worker-0")
    house.tick()
    return job


def names(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_expired_files_are_removed_except_only_model(house, begun):
    job = done(house, begun)
    files = KeptFile("log.txt", 10, 1.0), KeptFile("model.h5", 10, 1.0, only=True)
    folder = keep(house, job, *files)
    house.tick(6 * DAY)
    assert names(folder) == ["log.txt", "model.h5"]

    house.tick(2 * DAY)

    assert names(folder) == ["model.h5"]
    found = house.service.files.kept(job.id)
    assert (found.kept.files, found.kept.models, found.removed) == (1, 1, 1)
    house.tick(400 * DAY)
    assert names(folder) == ["model.h5"]
    assert house.executor.removed == []
    with pytest.raises(OnlyCopy, match="1 file of a model"):
        house.service.remove(job.id)


def test_oldest_kept_files_go_first_when_there_are_too_many(house, begun):
    house.settle(keep_limit=25)
    job = done(house, begun)
    old, new = KeptFile("old", 10, 1.0), KeptFile("new", 10, 2.0)
    folder = keep(house, job, old, new, KeptFile("model.h5", 10, 0.0, only=True))

    house.tick(3601)

    assert names(folder) == ["model.h5", "new"]


def test_outputs_and_kept_files_are_listed_and_read(house, begun):
    job = done(house, begun)
    house.put(f"{OUT}/model/saved_model.pb", b"0123456789")
    house.put(f"{OUT}/.danlu/previous/x", b"not the script's")
    keep(house, job, KeptFile("checkpoint/checkpoint", 3, 1.0, only=True))

    found = house.service.files.listed(job.id)

    assert [file.path for file in found.files] == [
        "train_url/model/saved_model.pb",
        "working-directory/checkpoint/checkpoint",
    ]
    output, kept = found.files
    read = house.service.files.read
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
def test_nothing_beside_files_of_job_is_read(house, begun, source, key):
    job = done(house, begun)
    keep(house, job, KeptFile("x", 3, 1.0))

    with pytest.raises(DanluError):
        house.service.files.read(job.id, source, key, 0)


def test_a_link_among_kept_files_leads_nowhere(house, begun, tmp_path):
    job = done(house, begun)
    folder = keep(house, job, KeptFile("x", 3, 1.0))
    (tmp_path / "secret").write_text("token")
    (folder / "link").symlink_to(tmp_path / "secret")

    with pytest.raises(DanluError):
        house.service.files.read(job.id, "kept/1/worker-0", "link", 0)
