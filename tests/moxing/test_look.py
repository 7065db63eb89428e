"""What is there, on this machine and in stores alike."""

import os
import stat

import pytest

import moxing as mox


@pytest.fixture
def tree(top):
    mox.file.make_dirs(f"{top}/dir0/empty")
    for name in ("dir0/file00", "dir0/b.jpg", "file1", "a.jpg"):
        mox.file.write(f"{top}/{name}", name)
    return top


def test_files_and_directories_exist_with_or_without_slash(tree):
    assert [mox.file.exists(f"{tree}/{name}") for name in ("file1", "dir0", "dir0/")] == [True] * 3
    assert not mox.file.exists(f"{tree}/dir")
    assert not mox.file.exists(f"{tree}/file1/")


def test_only_directories_are_directories(tree):
    assert mox.file.is_directory(f"{tree}/dir0")
    assert mox.file.is_directory(f"{tree}/dir0/empty/")
    assert not mox.file.is_directory(f"{tree}/file1")
    assert not mox.file.is_directory(f"{tree}/none")


def test_directory_is_listed_flat_by_default(tree):
    flat = mox.file.list_directory(tree)
    deep = mox.file.list_directory(tree, recursive=True)

    assert flat == ["a.jpg", "dir0", "file1"]
    assert deep == ["a.jpg", "dir0", "dir0/b.jpg", "dir0/empty", "dir0/file00", "file1"]


def test_a_listing_leaves_out_what_is_not_wanted(tree):
    files = mox.file.list_directory(tree, recursive=True, skip_dir=True)
    folders = mox.file.list_directory(tree, recursive=True, skip_file=True, remove_sep=False)

    assert files == ["a.jpg", "dir0/b.jpg", "dir0/file00", "file1"]
    assert folders == ["dir0/", "dir0/empty/"]


def test_a_file_cannot_be_listed(tree):
    with pytest.raises(NotADirectoryError):
        mox.file.list_directory(f"{tree}/file1")


def test_sizes_of_files_and_of_all_below_directory(tree):
    assert mox.file.get_size(f"{tree}/file1") == 5
    assert mox.file.get_size(tree, recursive=True) == 11 + 10 + 5 + 5


def test_directory_of_store_is_0_bytes_by_default(store, log):
    mox.file.write(f"{store}/d/x", "123")

    assert mox.file.get_size(f"{store}/d") == 0
    assert "recursive=True" in log.text


def test_directory_of_this_machine_is_always_counted_whole(here):
    (here / "x").write_text("123")

    assert mox.file.get_size(here) == 3


def test_stat_has_names_of_moxing_and_of_os(tree):
    file, folder = mox.file.stat(f"{tree}/file1"), mox.file.stat(f"{tree}/dir0")

    assert (file.length, file.st_size, file[stat.ST_SIZE]) == (5, 5, 5)
    assert file.mtime_nsec == file.st_mtime_ns
    assert file.st_mtime == pytest.approx(file.mtime_nsec / 1e9)
    assert (file.is_directory, stat.S_ISREG(file.st_mode)) == (False, True)
    assert (folder.is_directory, stat.S_ISDIR(folder.st_mode), folder.length) == (True, True, 0)


def test_time_of_object_is_that_of_its_writing(own_store):
    mox.file.write("obs://bucket/x", "1")

    written = next(own_store.glob("buckets/bucket/x")).stat().st_mtime_ns
    assert mox.file.stat("obs://bucket/x").mtime_nsec == written


def test_patterns_give_whole_paths(tree):
    assert mox.file.glob(f"{tree}/*.jpg") == [f"{tree}/a.jpg"]
    assert mox.file.glob(f"{tree}/d*/*.jpg") == [f"{tree}/dir0/b.jpg"]
    assert mox.file.glob(f"{tree}/**/*.jpg", recursive=True) == [
        f"{tree}/a.jpg",
        f"{tree}/dir0/b.jpg",
    ]
    assert mox.file.glob(f"{tree}/none*") == []
    assert mox.file.glob(f"{tree}/file1") == [f"{tree}/file1"]


def test_entries_of_a_directory_know_what_they_are(tree):
    found = {entry.name: entry for entry in mox.file.scan_dir(tree)}

    assert sorted(found) == ["a.jpg", "dir0", "file1"]
    assert (found["dir0"].is_dir(), found["file1"].is_file()) == (True, True)
    assert found["file1"].path == os.fspath(found["file1"]) == f"{tree}/file1"
    assert found["file1"].stat().st_size == 5


def test_a_walk_goes_through_all_directories(tree):
    found = {root: (sorted(dirs), sorted(files)) for root, dirs, files in mox.file.walk(tree)}

    assert found == {
        tree: (["dir0"], ["a.jpg", "file1"]),
        f"{tree}/dir0": (["empty"], ["b.jpg", "file00"]),
        f"{tree}/dir0/empty": ([], []),
    }


def test_walk_leaves_out_what_script_takes_away(tree):
    for _, dirs, _ in (walked := mox.file.walk(tree)):
        dirs.clear()

    assert list(walked) == []


def test_a_walk_of_nothing_is_empty(top):
    assert list(mox.file.walk(f"{top}/none")) == []


def test_a_doubled_slash_is_found_again_and_listed(store):
    mox.file.write(f"{store}/ckpt//model.ckpt", "1")
    mox.file.write(f"{store}/data/x", "2")

    assert mox.file.list_directory(f"{store}/ckpt") == ["model.ckpt"]
    assert mox.file.list_directory(f"{store}/ckpt/", recursive=True) == ["model.ckpt"]
    assert mox.file.read(f"{store}/ckpt//model.ckpt") == "1"
    assert mox.file.read(f"{store}/ckpt/model.ckpt") == "1"
    assert mox.file.read(f"{store}/data//x") == "2"
    assert mox.file.is_directory(f"{store}//data")


def test_all_schemes_share_one_default_store(own_store):
    mox.file.write("s3://bucket/x", "1")

    for scheme in ("obs", "ks3", "cos", "OBS"):
        assert mox.file.read(f"{scheme}://bucket/x") == "1"


def test_bucket_that_is_not_there_does_not_exist(store):
    assert not mox.file.exists("s3://nobody-has-this/x")
    assert not mox.file.exists("s3://nobody-has-this")
