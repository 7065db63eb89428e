"""Python's own functions on paths of a store, after shift('os', 'mox')."""

import builtins
import errno
import glob
import inspect
import io
import os
import pickle
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import moxing as mox


@pytest.fixture
def shifted():
    mox.file.shift("os", "mox")
    yield
    mox.file.shift("mox", "os")


@pytest.fixture
def tree(store, shifted):
    for name in ("a.txt", "d/b.txt", "d/e/c.txt"):
        mox.file.write(f"{store}/{name}", name)
    return store


def test_files_are_opened_by_their_url(tree):
    with open(f"{tree}/new", "w", encoding="utf-8") as file:
        file.write("字\n")
        assert file.name == f"{tree}/new"
    with io.open(file=f"{tree}/new") as file:  # noqa: UP020
        assert file.read() == "字\n"
        assert file.mode == "r"
    with open(f"{tree}/new", "ab") as file:
        file.write(b"!")
    with open(f"{tree}/new", newline="") as file:
        assert file.readlines() == ["字\n", "!"]
    with pytest.raises(FileNotFoundError):
        open(f"{tree}/none")  # noqa: SIM115
    with pytest.raises(FileExistsError):
        open(f"{tree}/new", "x")  # noqa: SIM115


def test_directories_are_listed(tree):
    assert sorted(os.listdir(tree)) == ["a.txt", "d"]
    with os.scandir(path=tree) as found:
        assert {entry.name: entry.is_dir() for entry in found} == {"a.txt": False, "d": True}
    assert [(root, dirs, files) for root, dirs, files in os.walk(tree)] == [
        (tree, ["d"], ["a.txt"]),
        (f"{tree}/d", ["e"], ["b.txt"]),
        (f"{tree}/d/e", [], ["c.txt"]),
    ]
    assert [root for root, _, _ in os.walk(tree, topdown=False)][-1] == tree


def test_questions_are_answered(tree):
    assert os.path.exists(tree)
    assert os.path.lexists(f"{tree}/a.txt")
    assert not os.path.exists(f"{tree}/none")
    assert (os.path.isdir(f"{tree}/d"), os.path.isfile(f"{tree}/d")) == (True, False)
    assert (os.path.isfile(f"{tree}/a.txt"), os.path.islink(f"{tree}/a.txt")) == (True, False)
    assert os.path.getsize(f"{tree}/a.txt") == os.stat(f"{tree}/a.txt").st_size == 5
    assert os.path.getmtime(f"{tree}/a.txt") == os.lstat(f"{tree}/a.txt").st_mtime
    assert stat.S_ISDIR(os.stat(f"{tree}/d").st_mode)
    assert os.access(f"{tree}/a.txt", os.R_OK)
    assert os.path.abspath(f"{tree}/a.txt") == os.path.realpath(f"{tree}/a.txt") == f"{tree}/a.txt"
    with pytest.raises(FileNotFoundError):
        os.stat(f"{tree}/none")


def test_directories_are_made_as_os_makes_them(tree):
    os.makedirs(f"{tree}/x/y")
    os.makedirs(f"{tree}/x/y", exist_ok=True)
    os.mkdir(f"{tree}/x/z")

    assert os.listdir(f"{tree}/x") == ["y", "z"]
    with pytest.raises(FileExistsError):
        os.makedirs(f"{tree}/x/y")
    with pytest.raises(FileExistsError):
        os.makedirs(f"{tree}/a.txt", exist_ok=True)
    with pytest.raises(FileNotFoundError):
        os.mkdir(f"{tree}/none/z")


def test_things_are_removed_as_os_removes_them(tree):
    os.remove(f"{tree}/a.txt")
    os.unlink(f"{tree}/d/b.txt")
    assert os.listdir(tree) == ["d"]
    with pytest.raises(IsADirectoryError):
        os.remove(f"{tree}/d")
    with pytest.raises(OSError, match="not empty") as caught:
        os.rmdir(f"{tree}/d")
    assert caught.value.errno == errno.ENOTEMPTY
    os.mkdir(f"{tree}/empty")
    os.rmdir(f"{tree}/empty")
    shutil.rmtree(f"{tree}/d")
    assert not os.path.exists(tree)
    with pytest.raises(FileNotFoundError):
        shutil.rmtree(f"{tree}/d")
    shutil.rmtree(f"{tree}/d", ignore_errors=True)


def test_patterns_match(tree):
    assert glob.glob(f"{tree}/*.txt") == [f"{tree}/a.txt"]
    assert sorted(glob.iglob(f"{tree}/**/*.txt", recursive=True)) == [
        *(f"{tree}/a.txt", f"{tree}/d/b.txt", f"{tree}/d/e/c.txt")
    ]


def test_files_move_between_store_and_machine(tree, here):
    assert shutil.copyfile(f"{tree}/a.txt", here / "a") == here / "a"
    assert shutil.copy(here / "a", f"{tree}/d") == f"{tree}/d/a"
    shutil.copy2(f"{tree}/d/a", f"{tree}/again")
    os.rename(f"{tree}/again", f"{tree}/renamed")
    os.replace(here / "a", f"{tree}/replaced")

    assert (here / "a").exists() is False
    assert mox.file.read(f"{tree}/replaced") == mox.file.read(f"{tree}/renamed") == "a.txt"
    assert shutil.move(f"{tree}/renamed", str(here)) == str(here / "renamed")
    with pytest.raises(FileNotFoundError):
        shutil.copyfile(f"{tree}/a.txt", here / "none/a")


def test_trees_are_copied(tree, here):
    shutil.copytree(tree, here / "all")
    shutil.copytree(here / "all", f"{tree}/few", ignore=shutil.ignore_patterns("e", "a.*"))

    assert (here / "all/d/e/c.txt").read_text() == "d/e/c.txt"
    assert mox.file.list_directory(f"{tree}/few", recursive=True) == ["d", "d/b.txt"]
    with pytest.raises(FileExistsError):
        shutil.copytree(tree, here / "all")
    shutil.copytree(f"{tree}/d", here / "all", dirs_exist_ok=True)
    assert (here / "all/b.txt").exists()


def test_path_objects_work_too(tree):
    path = Path(tree, "d")

    assert path.is_dir()
    assert sorted(child.name for child in path.iterdir()) == ["b.txt", "e"]
    (path / "new").write_text("1")
    assert (path / "new").read_text() == "1"


def test_urls_that_were_put_in_order_work_too(tree, here):
    folded = os.path.normpath(f"{tree}/d/../d")
    assert "://" not in folded

    assert mox.file.list_directory(folded) == os.listdir(folded) == ["b.txt", "e"]
    with open(str(Path(tree, "d", "b.txt"))) as file:
        assert file.read() == "d/b.txt"
    shutil.copytree(folded, here / "d")
    assert (here / "d/e/c.txt").read_text() == "d/e/c.txt"


def test_paths_of_this_machine_are_as_ever(shifted, here):
    (here / "x").write_text("1")

    assert os.listdir(here) == ["x"]
    assert os.listdir(os.fsencode(here)) == [b"x"]
    handle = os.open(here / "x", os.O_RDONLY)
    with open(handle) as file:
        assert file.read() == "1"
    assert os.path.isfile(here / "x")
    assert type(os.stat(here / "x")) is os.stat_result
    os.rename(here / "x", here / "y")
    assert glob.glob("*", root_dir=here) == ["y"]
    shutil.rmtree(here)
    with pytest.raises(TypeError):
        open()  # noqa: SIM115


def test_what_function_can_do_is_reported_as_ever(shifted):
    assert os.stat in os.supports_follow_symlinks
    assert os.listdir in os.supports_fd
    assert list(inspect.signature(os.makedirs).parameters) == ["name", "mode", "exist_ok"]
    assert pickle.loads(pickle.dumps(os.path.exists)) is os.path.exists
    assert pickle.loads(pickle.dumps(open)) is open


def test_function_kept_in_class_does_not_become_method(shifted, here):
    class Old:
        listdir = os.listdir
        open = open

    assert Old().listdir(here) == []
    with pytest.raises(FileNotFoundError):
        Old().open(here / "x")


def test_second_shift_changes_nothing_and_back_is_back(store):
    before = (builtins.open, os.listdir, os.path.exists, glob.glob, shutil.copy, io.open)
    mox.file.shift("os", "mox")
    once = os.listdir
    mox.file.shift("os", "mox")
    assert os.listdir is once

    mox.file.shift("mox", "os")
    mox.file.shift("mox", "os")

    assert (builtins.open, os.listdir, os.path.exists, glob.glob, shutil.copy, io.open) == before
    assert os.stat in os.supports_follow_symlinks
    assert once not in os.supports_fd
    with pytest.raises(FileNotFoundError):
        once(store)  # the script kept it


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"Write shift\('os', 'mox'\)"):
        mox.file.shift("mox", "tf")


CHILD = """
import multiprocessing, os, sys
import moxing as mox

def look(url):
    return os.listdir(url), open(url + "/x").read()

if __name__ == "__main__":
    mox.file.write("obs://bucket/d/x", "1")
    mox.file.shift("os", "mox")
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.apply(look, ("obs://bucket/d",)) == (["x"], "1"), method
    mox.file.shift("mox", "os")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.apply(look, ("obs://bucket/d",))
        except FileNotFoundError:
            print("back")
"""


def test_processes_of_multiprocessing_are_shifted(here):
    (here / "child.py").write_text(CHILD)

    done = subprocess.run([sys.executable, here / "child.py"], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "back\n"), done.stderr
