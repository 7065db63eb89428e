"""What an earlier job left in an output, and what happens when the next one writes there."""

import time
from pathlib import Path

import pytest

from contracts.s3_server import SmallS3, endpoint, error, serve
from danlu.errors import NotFound, StorageError
from danlu.storage import previous as keeping
from danlu.storage.locate import Stores, file_uri
from danlu.storage.paths import copy_object
from danlu.storage.previous import (
    StartRecord,
    expire_previous,
    list_previous,
    read_start,
    record_start,
    restore_previous,
)

OUT = "obs://bucket/out"
DAY = 24 * 3600.0


@pytest.fixture(params=["embedded", "folder", "s3"])
def place(request, tmp_path):
    """Return a function that opens the stores anew, and the URI of an output."""
    if request.param == "s3":
        service = SmallS3("bucket")
        with serve(service) as url:
            yield lambda: Stores(tmp_path, {"obs": endpoint(url)}), OUT
    elif request.param == "folder":
        yield lambda: Stores(tmp_path / "store"), file_uri(tmp_path / "out")
    else:
        yield lambda: Stores(tmp_path / "store"), OUT


def begin(opened, uri, job="job-2"):
    """Return an output as a job sees it that has begun."""
    start = record_start(opened.at(uri), job)
    opened.keep(job, {uri: start})
    return opened.at(uri)


def write(location, **files):
    for name, data in files.items():
        location.storage.write(location.prefix + name, data)


def contents(location, below=""):
    prefix = location.prefix + below
    return {
        entry.key[len(prefix) :]: location.storage.read(entry.key)
        for entry in location.storage.list(prefix)
        if not entry.key.endswith("/")
    }


def previous(location, job="job-2"):
    return contents(location, f".danlu/previous/{job}/")


def test_object_of_earlier_job_is_kept_before_replacement(place):
    stores, uri = place
    write(stores().at(uri), model=b"old", other=b"stays")
    output = begin(stores(), uri)

    write(output, model=b"new", fresh=b"1")

    assert contents(output) == {"model": b"new", "other": b"stays", "fresh": b"1"}
    assert previous(output) == {"model": b"old"}


def test_object_of_earlier_job_is_kept_before_removal(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    output = begin(stores(), uri)

    output.storage.delete(f"{output.prefix}model")

    assert contents(output) == {}
    assert previous(output) == {"model": b"old"}


def test_earlier_object_is_kept_before_overwrite(place):
    stores, uri = place
    write(stores().at(uri), model=b"old", best=b"the best")
    output = begin(stores(), uri)

    best = output.storage.stat(f"{output.prefix}best")
    copy_object(output.storage, best, output.storage, f"{output.prefix}model")

    assert contents(output) == {"model": b"the best", "best": b"the best"}
    assert previous(output) == {"model": b"old"}


def test_own_objects_are_not_kept_by_attempts(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    write(begin(stores(), uri), model=b"first", fresh=b"1")

    output = begin(stores(), uri)  # the second attempt, in a process of its own
    write(output, model=b"second", fresh=b"2")
    output.storage.delete(f"{output.prefix}fresh")

    assert contents(output) == {"model": b"second"}
    assert previous(output) == {"model": b"old"}


def test_process_with_job_id_reads_the_record(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    begin(stores(), uri)

    script = stores()
    script.keep("job-2", {uri: None})
    write(script.at(uri), model=b"new")

    assert previous(script.at(uri)) == {"model": b"old"}


def test_folder_without_record_is_recorded_before_first_write(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")

    script = stores()
    script.keep("job-2", {uri: None})
    # Nothing is written where a script only reads.
    assert read_start(script.at(uri), "job-2") is None
    write(script.at(uri), model=b"new", other=b"own")
    write(script.at(uri), model=b"newer", other=b"changed")

    assert previous(script.at(uri)) == {"model": b"old"}


def test_record_of_first_task_counts_for_all(place):
    stores, uri = place
    first = record_start(stores().at(uri), "job-2")
    write(stores().at(uri), model=b"of the first task")

    assert record_start(stores().at(uri), "job-2") == first == StartRecord()


def test_one_of_two_simultaneous_records_counts(place, monkeypatch):
    stores, uri = place
    slow = stores().at(uri)
    asked = []

    def choose(location, tree):
        if not asked:  # the other one is faster, and has written since
            asked.append(record_start(stores().at(uri), "job-2"))
            write(stores().at(uri), model=b"1")
        return []

    assert record_start(slow, "job-2", choose) == asked[0]
    assert read_start(slow, "job-2") == asked[0]


def test_folder_of_platform_is_in_no_listing(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    output = begin(stores(), uri)
    write(output, model=b"new")
    output.storage.delete(f"{output.prefix}model")

    assert [path for path, _ in output.tree()] == []
    assert output.is_empty()
    assert [e.key for e in output.storage.children(output.prefix) if e.key != output.prefix] == []
    assert list(contents(output, ".danlu/previous/job-2/")) == ["model"]


def test_invalid_record_is_error_with_its_name(place):
    stores, uri = place
    output = stores().at(uri)
    output.storage.write(f"{output.prefix}.danlu/start/job-2.json", b"{")

    with pytest.raises(StorageError, match=r"\.danlu/start/job-2\.json"):
        record_start(output, "job-2")


def test_replaced_and_removed_objects_are_restored(place):
    stores, uri = place
    write(stores().at(uri), checkpoint=b"30", model=b"old", gone=b"x")
    output = begin(stores(), uri)
    write(output, checkpoint=b"3", model=b"new", fresh=b"1")
    output.storage.delete(f"{output.prefix}gone")

    done = restore_previous(stores().at(uri), "job-2")

    assert list(done.restored) == ["gone", "model", "checkpoint"]  # what refers comes last
    assert contents(output) == {"checkpoint": b"30", "model": b"old", "gone": b"x", "fresh": b"1"}


def test_a_restore_can_be_undone_and_repeated(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    write(begin(stores(), uri), model=b"new")

    done = restore_previous(stores().at(uri), "job-2")
    again = restore_previous(stores().at(uri), "job-2")
    undone = restore_previous(stores().at(uri), done.kept_as)

    assert (list(again.restored), list(again.same), again.kept_as) == ([], ["model"], "")
    assert list(undone.restored) == ["model"]
    assert contents(stores().at(uri)) == {"model": b"new"}
    assert previous(stores().at(uri), undone.kept_as) == {"model": b"old"}


def test_a_dry_restore_changes_nothing(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    write(begin(stores(), uri), model=b"new")

    done = restore_previous(stores().at(uri), "job-2", dry=True)

    assert (list(done.restored), done.kept_as) == (["model"], "")
    assert contents(stores().at(uri)) == {"model": b"new"}
    assert [each.id for each in list_previous(stores().at(uri))] == ["job-2"]


def test_unknown_kept_set_suggests_the_nearest(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    write(begin(stores(), uri), model=b"new")

    with pytest.raises(NotFound, match="job-3") as reported:
        restore_previous(stores().at(uri), "job-3")

    assert "job-2" in reported.value.hint


def test_old_copies_are_removed_except_running_job(place):
    stores, uri = place
    write(stores().at(uri), model=b"old")
    output = begin(stores(), uri)
    write(output, model=b"new")

    made = max(entry.modified for entry in output.storage.list(f"{output.prefix}.danlu/")) / 1e9

    young = expire_previous(output, days=30, now=made + 29 * DAY)
    spared = expire_previous(output, days=30, spared="job-2", now=made + 31 * DAY)
    everything = expire_previous(output, days=30, now=made + 31 * DAY)

    assert (young, spared, everything) == (0, 0, 2)
    assert list_previous(output) == []
    assert contents(output) == {"model": b"new"}


def test_keys_that_were_not_there_cost_no_request(tmp_path):
    service = SmallS3("bucket")
    with serve(service) as url:
        opened = Stores(tmp_path, {"obs": endpoint(url)})
        output = begin(opened, OUT)
        before = len(service.requests)

        write(output, fresh=b"1", other=b"2")

        assert len(service.requests) - before == 2


def test_nothing_is_replaced_where_the_copy_fails(tmp_path):
    service = SmallS3("bucket")
    with serve(service) as url:
        stores = Stores(tmp_path, {"obs": endpoint(url)})
        write(stores.at(OUT), model=b"old")
        output = begin(stores, OUT)
        service.faults.append(
            lambda request: error(403, "AccessDenied") if "previous" in request.key else None
        )

        with pytest.raises(StorageError):
            write(output, model=b"new")
        with pytest.raises(StorageError):
            output.storage.delete(f"{output.prefix}model")

        assert contents(stores.at(OUT)) == {"model": b"old"}


def test_second_task_does_not_keep_first_object(tmp_path):
    """It has seen the earlier job's object, and copies when a peer has replaced it."""
    stores = Stores(tmp_path)
    write(stores.at(OUT), model=b"old")
    start = record_start(stores.at(OUT), "job-2")
    peer = Stores(tmp_path)
    peer.keep("job-2", {OUT: start})
    raw = stores.at(OUT)

    class Slow:
        """The storage of the slow task: between its look and its copy the peer writes."""

        def __getattr__(self, name):
            return getattr(raw.storage, name)

        def stat(self, key):
            entry = raw.storage.stat(key)
            write(peer.at(OUT), model=b"of the peer")
            return entry

    keeper = keeping.PreviousKeeper(type(raw)(Slow(), raw.key, raw.uri), "job-2")
    keeper.use(start)
    keeper.before("model")

    assert previous(raw) == {"model": b"old"}


def test_small_objects_of_a_batch_are_kept(tmp_path):
    from danlu.storage.transfer import push

    service = SmallS3("bucket")
    with serve(service) as url:
        stores = Stores(tmp_path, {"obs": endpoint(url)})
        write(stores.at(OUT), a=b"old", b=b"old too")
        folder = tmp_path / "folder"
        folder.mkdir()
        for name in "abcd":
            Path(folder, name).write_text(f"new {name}")

        push(folder, begin(stores, OUT), final=True)

        assert previous(stores.at(OUT)) == {"a": b"old", "b": b"old too"}
        assert contents(stores.at(OUT)) == {name: f"new {name}".encode() for name in "abcd"}


@pytest.fixture(params=["embedded", "s3"])
def bucket(request, tmp_path):
    """Return a function that opens the stores of a bucket anew."""
    if request.param == "s3":
        with serve(SmallS3("bucket")) as url:
            yield lambda: Stores(tmp_path, {"obs": endpoint(url)})
    else:
        yield lambda: Stores(tmp_path / "store")


def run(opened, since, job="job-2"):
    """Return the stores of a script of ``job``, and the folders that it reports."""
    kept_at = []
    opened.keep(job, {"obs://bucket/train": None}, since=since, on_kept=kept_at.append)
    return opened, kept_at


def test_objects_at_literal_url_are_kept(bucket):
    write(bucket().at(OUT), model=b"old", gone=b"x", other=b"stays")
    write(bucket().at(f"{OUT}/deep"), model=b"old too")

    script, kept_at = run(bucket(), time.time() + 1)
    write(script.at(OUT), model=b"new", fresh=b"1")
    script.at(OUT).storage.delete("out/gone")
    write(script.at(f"{OUT}/deep"), model=b"new too")
    write(script.at(OUT), model=b"newer", fresh=b"2")

    assert contents(script.at(OUT)) == {
        "model": b"newer", "fresh": b"2", "other": b"stays", "deep/model": b"new too",
    }  # fmt: skip
    assert previous(script.at(OUT)) == {"model": b"old", "gone": b"x"}
    assert previous(script.at(f"{OUT}/deep")) == {"model": b"old too"}
    assert kept_at == ["obs://bucket/out/", "obs://bucket/out/deep/"]
    assert list(restore_previous(bucket().at(kept_at[0]), "job-2").restored) == ["gone", "model"]


def test_second_attempt_keeps_copy_of_the_first(bucket):
    write(bucket().at(OUT), model=b"old")
    start = time.time() + 1

    for data in (b"first", b"second"):
        script, kept_at = run(bucket(), start)
        write(script.at(OUT), model=data)
        assert kept_at == ["obs://bucket/out/"]

    assert previous(script.at(OUT)) == {"model": b"old"}


def test_objects_of_the_job_are_not_kept(tmp_path):
    start = time.time() - 1
    write(run(Stores(tmp_path), start)[0].at(OUT), model=b"first")

    script, kept_at = run(Stores(tmp_path), start)
    write(script.at(OUT), model=b"second")

    assert (previous(script.at(OUT)), kept_at) == ({}, [])


def test_outputs_keep_their_own_record_beside_other_folders(bucket):
    write(bucket().at("obs://bucket/train"), model=b"old")

    script, kept_at = run(bucket(), time.time() + 1)
    write(script.at("obs://bucket/train"), model=b"new")

    assert previous(script.at("obs://bucket/train")) == {"model": b"old"}
    assert read_start(script.at("obs://bucket/train"), "job-2") is not None
    assert kept_at == []


def test_large_folders_are_not_listed_to_their_end(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "_LISTED", 3)
    write(Stores(tmp_path).at(OUT), **{f"f{n}": b"old" for n in range(9)})

    script, _ = run(Stores(tmp_path), time.time() + 1)
    write(script.at(OUT), f8=b"new", fresh=b"1")

    assert previous(script.at(OUT)) == {"f8": b"old"}


def test_new_objects_of_a_folder_cost_one_listing(tmp_path):
    service = SmallS3("bucket")
    with serve(service) as url:
        script, _ = run(Stores(tmp_path, {"obs": endpoint(url)}), time.time() + 1)
        before = len(service.requests)

        write(script.at(OUT), **{f"f{n}": b"1" for n in range(5)})

        assert len(service.requests) - before == 5 + 1


def test_a_key_that_may_only_write_is_enough(tmp_path, caplog):
    service = SmallS3("bucket")
    with serve(service) as url:
        write(Stores(tmp_path, {"obs": endpoint(url)}).at(OUT), model=b"old")
        service.faults.append(
            lambda request: error(403, "AccessDenied") if request.method != "PUT" else None
        )
        script, kept_at = run(Stores(tmp_path, {"obs": endpoint(url)}), time.time() + 1)

        write(script.at(OUT), model=b"new")

        assert kept_at == []
        assert "not kept: out/ is not listed" in caplog.text
