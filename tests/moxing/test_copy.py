"""Copies between any two places."""

import os
import threading

import pytest

import moxing as mox
from contracts.s3_server import Request, Stored, error
from danlu.storage import paths
from danlu.storage.transfer.parallel import ONE_REQUEST

FILES = {"a.txt": "1", "deep/b.txt": "22", "deep/er/c": "333"}


def fill(top: str) -> str:
    for name, data in FILES.items():
        mox.file.make_dirs(f"{top}/{name}".rpartition("/")[0])
        mox.file.write(f"{top}/{name}", data)
    mox.file.make_dirs(f"{top}/empty")
    return top


def held(top: str) -> dict[str, str]:
    names = mox.file.list_directory(top, recursive=True, skip_dir=True)
    return {name: mox.file.read(f"{top}/{name}") for name in names}


@pytest.fixture(params=["down", "up", "within", "here"])
def ends(request, store, here) -> tuple[str, str]:
    """From and to: all four directions."""
    local = (str(here / "from"), str(here / "to"))
    remote = (f"{store}/from", f"{store}/to")
    return {
        "down": (remote[0], local[1]),
        "up": (local[0], remote[1]),
        "within": remote,
        "here": local,
    }[request.param]


def test_what_is_in_directory_is_copied_into_another(ends):
    start, end = fill(ends[0]), ends[1]

    assert mox.file.copy_parallel(start, end) is None

    assert held(end) == held(start) == FILES
    assert mox.file.is_directory(f"{end}/empty")


def test_what_the_target_has_besides_stays(ends):
    start, end = fill(ends[0]), ends[1]
    mox.file.make_dirs(end)
    mox.file.write(f"{end}/other", "x")
    mox.file.write(f"{end}/a.txt", "old")

    mox.file.copy_parallel(f"{start}/", f"{end}/")

    assert held(end) == {**FILES, "other": "x"}


@pytest.mark.parametrize("threads", [0, 1, 32])
def test_only_files_of_list_without_pool_too(ends, threads):
    start, end = fill(ends[0]), ends[1]

    mox.file.copy_parallel(
        start, end, file_list=["a.txt", "deep/er"], threads=threads, is_processing=False
    )

    assert held(end) == {"a.txt": "1", "deep/er/c": "333"}


def test_names_of_a_list_are_put_in_order(ends):
    start, end = fill(ends[0]), ends[1]

    mox.file.copy_parallel(start, end, file_list=["./a.txt", "deep/../deep/./er/", "/a.txt"])

    assert held(end) == {"a.txt": "1", "deep/er/c": "333"}
    assert mox.file.list_directory(end, recursive=True) == ["a.txt", "deep", "deep/er", "deep/er/c"]
    mox.file.copy_parallel(end, f"{end}-back")  # no key has a part that no disk can hold
    assert held(f"{end}-back") == held(end)


def test_empty_or_escaping_list_is_refused(ends):
    start, end = fill(ends[0]), ends[1]

    with pytest.raises(ValueError, match=r"'deep/../../a' of file_list is not below"):
        mox.file.copy_parallel(start, end, file_list=["deep/../../a"])
    with pytest.raises(TypeError, match=r"write \['a.txt'\]"):
        mox.file.copy_parallel(start, end, file_list="a.txt")
    assert not mox.file.exists(end)


def test_list_with_missing_name_copies_nothing(ends):
    start, end = fill(ends[0]), ends[1]

    with pytest.raises(mox.file.MoxFileNotExistsException, match="'none'"):
        mox.file.copy_parallel(start, end, file_list=["a.txt", "none"])
    assert not mox.file.exists(end)


def test_single_file_is_copied_to_name_or_directory(ends):
    start, end = fill(ends[0]), ends[1]
    mox.file.make_dirs(end)

    for copy in (mox.file.copy, mox.file.copy_parallel):
        copy(f"{start}/a.txt", f"{end}/sub/{copy.__name__}")
        copy(f"{start}/a.txt", end)
        copy(f"{start}/deep/b.txt", f"{end}/")

    assert held(end) == {"a.txt": "1", "b.txt": "22", "sub/copy": "1", "sub/copy_parallel": "1"}


def test_file_is_copied_into_bucket_that_is_new(here):
    (here / "a").write_text("1")

    mox.file.copy(here / "a", "obs://fresh")

    assert mox.file.list_directory("obs://fresh") == ["a"]


def test_a_directory_is_not_copied_as_a_file(ends):
    start, end = fill(ends[0]), ends[1]

    with pytest.raises(IsADirectoryError, match="copy_parallel"):
        mox.file.copy(start, end)


def test_a_file_that_is_not_there_is_reported(ends):
    with pytest.raises(mox.file.MoxFileNotExistsException):
        mox.file.copy(f"{ends[0]}/none", ends[1])


def test_where_nothing_is_there_is_nothing_to_copy(store, here, log):
    mox.file.copy_parallel(f"{store}/none", here / "to")

    assert "No files to copy" in log.text
    assert (here / "to").is_dir()


def test_missing_local_directory_is_an_error(store, here):
    with pytest.raises(mox.file.MoxFileNotExistsException):
        mox.file.copy_parallel(here / "none", store)


def test_file_instead_of_directory_is_reported_first(store, here):
    mox.file.write(f"{store}/x", "file")
    mox.file.write(f"{store}/x/y", "below")

    with pytest.raises(mox.file.MoxFileNameDuplicateException, match="'x'"):
        mox.file.copy_parallel(store, here)
    assert list(here.iterdir()) == []


def test_no_key_leads_out_of_the_folder(store, here):
    place = paths.stores().at(store)
    place.storage.write(f"{place.key}/../../out", b"1")

    with pytest.raises(mox.file.MoxFileRespException, match="cannot be part of a path"):
        mox.file.copy_parallel(store, here / "in")
    assert not (here / "out").exists()


def test_odd_names_come_and_go(store, here):
    names = ["空 格.txt", "100%", "a+b'\"", "#x?"]
    for name in names:
        (here / name).write_text(name)

    mox.file.copy_parallel(here, store)
    mox.file.copy_parallel(store, here / "back")

    assert sorted(path.name for path in (here / "back").iterdir()) == sorted(names)
    assert mox.file.read(f"{store}/100%") == "100%"


def test_links_are_followed_and_cycles_end(store, here):
    (here / "data").mkdir()
    (here / "data/x").write_text("1")
    (here / "link").symlink_to("data")
    (here / "data/ring").symlink_to("..")
    (here / "nowhere").symlink_to("none")

    mox.file.copy_parallel(here, store)

    assert held(store) == {"data/x": "1", "link/x": "1"}


def test_a_second_copy_fetches_only_what_is_new(store, here, service):
    fill(f"{store}/from")
    mox.file.copy_parallel(f"{store}/from", here)
    mox.file.write(f"{store}/from/a.txt", "other")
    os.unlink(here / "deep/b.txt")
    kept = os.stat(here / "deep/er/c").st_ino

    mox.file.copy_parallel(f"{store}/from", here)

    assert held(str(here)) == {**FILES, "a.txt": "other"}
    assert os.stat(here / "deep/er/c").st_ino == kept


def test_a_second_copy_sends_only_what_is_new(service, served, here):
    fill(str(here))
    mox.file.copy_parallel(here, served)
    (here / "a.txt").write_text("2")
    service.requests.clear()

    mox.file.copy_parallel(here, served)

    sent = {request.key for request in service.requests if request.method == "PUT"}
    assert sent == {"top/a.txt", "top/empty/"}
    assert held(served) == {**FILES, "a.txt": "2"}


def test_the_source_is_never_touched(store, here):
    fill(str(here))
    before = {path: os.stat(path).st_mtime_ns for path in here.rglob("*")}

    mox.file.copy_parallel(here, f"{store}/a")

    assert {path: os.stat(path).st_mtime_ns for path in here.rglob("*")} == before


def test_files_that_could_not_be_copied_are_named(service, served, here):
    def refuse(request: Request):
        bad = request.method == "PUT" and "bad" in request.key
        return error(403, "AccessDenied") if bad else None

    service.faults.append(refuse)
    for name in ("good", "bad1", "bad2"):
        (here / name).write_text(name)

    with pytest.raises(mox.file.MoxFileRespException) as caught:
        mox.file.copy_parallel(here, served)

    assert "2 of 3 files were not copied" in str(caught.value)
    assert "bad1: The key has no permission" in str(caught.value)
    assert caught.value.resp.status == 403
    assert held(served) == {"good": "good"}


def test_several_files_are_on_their_way_at_once(own_store, here, monkeypatch):
    from danlu.storage.local import FileStorage

    together = threading.Barrier(4, timeout=30)
    write = FileStorage.write

    def meet(self, key, data):
        together.wait()
        return write(self, key, data)

    monkeypatch.setattr(FileStorage, "write", meet)
    for number in range(8):
        (here / str(number)).write_text("x")

    mox.file.copy_parallel(here, "obs://bucket/x", threads=4)

    assert len(mox.file.list_directory("obs://bucket/x")) == 8


def test_a_large_object_comes_in_ranges_and_whole(service, served, here):
    data = bytes(range(256)) * (ONE_REQUEST // 256) + b"the rest"
    service.buckets["bucket"]["top/large"] = Stored(data, "whole", {})
    (here / "to").mkdir()

    mox.file.copy_parallel(served, str(here / "to"))

    assert (here / "to/large").read_bytes() == data
    assert any("range" in request.headers for request in service.requests)
    assert [path.name for path in (here / "to").iterdir()] == ["large"]


def test_a_directory_is_listed_once(service, served, here):
    for number in range(20):
        mox.file.write(f"{served}/d/{number % 4}/{number}", "x")
    service.requests.clear()

    mox.file.copy_parallel(f"{served}/d", here)

    listings = [r for r in service.requests if "list-type" in r.query]
    assert len(listings) == 1
    assert len(mox.file.list_directory(here, recursive=True, skip_dir=True)) == 20


def test_growing_file_is_copied_to_its_end(store, here):
    (here / "log").write_text("x" * 10)

    mox.file.copy_parallel(here, store)
    with open(here / "log", "a") as file:
        file.write("y")
    mox.file.copy_parallel(here, store)

    assert mox.file.read(f"{store}/log") == "x" * 10 + "y"


def test_folder_joined_with_two_slashes_is_one_folder(store, here):
    (here / "a.txt").write_text("1")

    mox.file.copy_parallel(str(here), f"{store}/out//model")
    mox.file.copy(str(here / "a.txt"), f"{store}/out//b.txt")
    mox.file.append(f"{store}/out//b.txt", "2")

    keys = {key for key, _ in paths.objects(f"{store}/out")}
    assert {"model/a.txt", "b.txt"} <= keys
    assert mox.file.read(f"{store}/out/b.txt") == "12"
