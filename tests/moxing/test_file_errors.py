"""Whole files, on this machine and in stores alike."""

import pickle

import pytest

import moxing as mox


def test_written_data_is_read_as_text_or_bytes(top):
    mox.file.make_dirs(top)
    mox.file.write(f"{top}/a.txt", "字")

    assert mox.file.read(f"{top}/a.txt") == "字"
    assert mox.file.read(f"{top}/a.txt", binary=True) == "字".encode()


def test_bytes_need_no_binary(top):
    mox.file.make_dirs(top)
    mox.file.write(f"{top}/a", b"\xff\x00")
    mox.file.append(f"{top}/a", b"\xfe", binary=True)

    assert mox.file.read(f"{top}/a", binary=True) == b"\xff\x00\xfe"


@pytest.mark.parametrize("call", ["write", "append"])
@pytest.mark.parametrize("data", [5, None, ["a"], "\ud800"])
def test_what_no_file_can_hold_keeps_file_unchanged(top, call, data):
    mox.file.make_dirs(top)
    mox.file.write(f"{top}/a", "good")

    with pytest.raises((TypeError, UnicodeEncodeError)):
        getattr(mox.file, call)(f"{top}/a", data)

    assert mox.file.read(f"{top}/a") == "good"


@pytest.mark.parametrize(
    "call", [mox.file.read, mox.file.make_dirs, mox.file.exists, mox.file.File]
)
def test_unknown_scheme_is_reported_without_creating_folder(here, monkeypatch, call):
    monkeypatch.chdir(here)

    with pytest.raises(mox.file.MoxFileRespException, match="no scheme named 'hdfs'"):
        call("hdfs://bucket/a")

    assert list(here.iterdir()) == []


def test_error_for_binary_data_names_binary_mode(top):
    mox.file.make_dirs(top)
    mox.file.write(f"{top}/a", b"\xff")

    with pytest.raises(ValueError, match="binary=True"):
        mox.file.read(f"{top}/a")


def test_writing_replaces_and_appending_goes_on(top):
    mox.file.make_dirs(top)
    mox.file.append(f"{top}/log", "one ")
    mox.file.append(f"{top}/log", "two")
    assert mox.file.read(f"{top}/log") == "one two"

    mox.file.write(f"{top}/log", "new")
    assert mox.file.read(f"{top}/log") == "new"


def test_a_file_is_appended_to_another(store, here):
    (here / "tail").write_text(" tail")
    mox.file.write(f"{store}/head", "head")

    mox.file.append_remote(here / "tail", f"{store}/head")

    assert mox.file.read(f"{store}/head") == "head tail"


@pytest.mark.parametrize("call", ["read", "stat", "get_size", "list_directory"])
def test_missing_file_raises_moxing_and_python_errors(top, call):
    with pytest.raises(mox.file.MoxFileNotExistsException) as caught:
        getattr(mox.file, call)(f"{top}/none")

    assert isinstance(caught.value, FileNotFoundError)
    assert caught.value.filename == f"{top}/none"


def test_missing_object_is_a_404(store):
    with pytest.raises(mox.file.MoxFileRespException) as caught:
        mox.file.read(f"{store}/none")

    assert (caught.value.resp.status, caught.value.resp.errorCode) == (404, "NoSuchKey")
    assert str(caught.value.resp).startswith("stat:404 errorCode:NoSuchKey errorMessage:")


def test_what_is_raised_crosses_processes(store):
    with pytest.raises(mox.file.MoxFileRespException) as caught:
        mox.file.read(f"{store}/none")

    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.resp, copy.filename) == (caught.value.resp, f"{store}/none")


def test_directories_are_made_with_parents_and_twice(top):
    mox.file.make_dirs(f"{top}/a/b")
    mox.file.make_dirs(f"{top}/a/b/")

    assert mox.file.list_directory(top, recursive=True) == ["a", "a/b"]


def test_one_directory_needs_the_one_above(top):
    with pytest.raises(OSError, match="No such file"):
        mox.file.mk_dir(f"{top}/a/b")
    mox.file.make_dirs(f"{top}/a")
    mox.file.mk_dir(f"{top}/a/b")
    mox.file.mk_dir(f"{top}/a/b")

    assert mox.file.is_directory(f"{top}/a/b")


def test_a_file_is_removed_by_either_call(top):
    mox.file.make_dirs(top)
    for recursive in (False, True):
        mox.file.write(f"{top}/a", "x")
        mox.file.remove(f"{top}/a", recursive=recursive)
        assert not mox.file.exists(f"{top}/a")


def test_directory_is_removed_only_with_recursive(top, log):
    mox.file.make_dirs(f"{top}/a")
    mox.file.write(f"{top}/a/b", "x")

    mox.file.remove(f"{top}/a")
    assert mox.file.exists(f"{top}/a/b")
    assert "left the directory" in log.text
    mox.file.remove(f"{top}/a", recursive=True)
    assert not mox.file.exists(f"{top}/a")


def test_file_and_directory_of_one_name_are_independent(store):
    for path in ("x", "x/y", "z", "z/y"):
        mox.file.write(f"{store}/{path}", "1")

    mox.file.remove(f"{store}/x")
    mox.file.remove(f"{store}/z/", recursive=True)

    assert mox.file.list_directory(store, recursive=True, skip_dir=True) == ["x/y", "z"]


def test_removing_what_store_has_not_is_warning(store, log):
    mox.file.write(f"{store}/a", "1")

    mox.file.remove(f"{store}/none", recursive=True)
    mox.file.remove(f"{store}/a/")

    assert log.text.count("nothing is at") == 2
    assert mox.file.exists(f"{store}/a")


def test_removing_what_disk_has_not_is_error(here):
    with pytest.raises(FileNotFoundError):
        mox.file.remove(here / "none")


def test_a_whole_bucket_is_not_removed(store):
    bucket = store.removesuffix("/top")
    mox.file.write(f"{store}/a", "1")

    with pytest.raises(PermissionError, match="whole bucket"):
        mox.file.remove(bucket, recursive=True)
    assert mox.file.exists(f"{store}/a")


def test_a_file_is_renamed_over_another(top):
    mox.file.make_dirs(top)
    mox.file.write(f"{top}/a", "new")
    mox.file.write(f"{top}/b", "old")

    mox.file.rename(f"{top}/a", f"{top}/b")

    assert (mox.file.read(f"{top}/b"), mox.file.exists(f"{top}/a")) == ("new", False)


def test_a_directory_is_renamed_with_all_below(top):
    mox.file.make_dirs(f"{top}/a/deep")
    mox.file.write(f"{top}/a/deep/x", "1")

    mox.file.rename(f"{top}/a", f"{top}/b")

    assert mox.file.list_directory(top, recursive=True) == ["b", "b/deep", "b/deep/x"]


def test_files_and_directories_move_between_store_and_machine(store, here):
    mox.file.write(f"{store}/d/x", "1")

    mox.file.rename(f"{store}/d", here / "d")
    assert (here / "d/x").read_text() == "1"
    assert not mox.file.exists(f"{store}/d")
    mox.file.rename(here / "d/x", f"{store}/back")
    assert mox.file.read(f"{store}/back") == "1"
    assert not (here / "d/x").exists()


def test_a_directory_is_not_moved_into_itself(store):
    mox.file.write(f"{store}/d/x", "1")

    with pytest.raises(OSError, match="into itself"):
        mox.file.rename(f"{store}/d", f"{store}/d/e")
    assert mox.file.exists(f"{store}/d/x")


def test_a_bucket_that_is_impossible_is_refused(own_store):
    with pytest.raises(mox.file.MoxFileRespException, match="cannot be the name of a bucket"):
        mox.file.read("obs://A_B/x")


def test_paths_may_be_text_bytes_or_objects(here, store):
    mox.file.write(f"file://{here}/a", "1")
    mox.file.write(f"{store}/a".encode(), "2")

    assert mox.file.read(str(here / "a").encode()) == mox.file.read(here / "a") == "1"
    assert mox.file.read(f"{store}/a") == "2"
