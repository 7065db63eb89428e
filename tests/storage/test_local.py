"""Files as objects: links, folders, killed writers, and what a disk may refuse."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from contracts.storage import Broken
from danlu.errors import Refused, StorageError
from danlu.storage.local import FileStorage
from danlu.storage.locate import sweep
from danlu.storage.names import temporary


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


@pytest.fixture
def folder(root: Path) -> FileStorage:
    return FileStorage(root, plain=True)


@pytest.fixture
def bucket(root: Path) -> FileStorage:
    return FileStorage(root, plain=False)


def keys(storage: FileStorage, prefix: str = "") -> list[str]:
    return [entry.key for entry in storage.list(prefix)]


def test_ordinary_keys_of_a_bucket_are_ordinary_paths(bucket: FileStorage, root: Path) -> None:
    bucket.write("models/第一 次/model.ckpt-1.index", b"x")

    assert (root / "models/第一 次/model.ckpt-1.index").read_bytes() == b"x"


def test_an_etag_is_size_and_time_of_change(folder: FileStorage, root: Path) -> None:
    (root / "a").write_bytes(b"x" * 255)
    os.utime(root / "a", ns=(0, 0xABC))

    entry = folder.stat("a")

    assert entry is not None
    assert entry.etag == "ff-abc"


def test_empty_folders_are_keys_that_end_in_slash(folder: FileStorage, root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    folder.write("c/d/", b"")

    assert (root / "c" / "d").is_dir()
    assert keys(folder) == ["a/b/", "c/d/"]
    assert keys(folder, "c/") == ["c/d/"]
    assert keys(folder, "c/d/") == ["c/d/"]
    assert all(folder.stat(entry.key) == entry for entry in folder.list())
    assert folder.stat("") is not None
    assert folder.stat("x/") is None
    folder.delete("a/")
    folder.delete("a/b/")
    assert keys(folder) == ["a/", "c/d/"]


def test_a_folder_holds_no_bytes(folder: FileStorage) -> None:
    with pytest.raises(Refused, match="holds no bytes"):
        folder.write("a/", b"x")


@pytest.mark.parametrize("key", ["../a", "a//b", "a/./b", "/a", "a\0b", "x" * 256, "\ud800"])
def test_invalid_key_is_refused_and_never_found(folder: FileStorage, key: str) -> None:
    with pytest.raises(Refused, match="cannot be the name of an object"):
        folder.write(key, b"")
    with pytest.raises(Refused):
        folder.create(key, b"")

    assert folder.stat(key) is None
    assert folder.read(key) is None
    assert keys(folder, f"{key}/") == []
    folder.delete(key)


@pytest.mark.parametrize("key", ["", "x" * 1025, "\ud800"])
def test_a_bucket_refuses_only_what_no_bucket_takes(bucket: FileStorage, key: str) -> None:
    with pytest.raises(Refused, match="1,024 bytes"):
        bucket.write(key, b"")


def test_names_that_are_not_utf8_are_kept(folder: FileStorage, root: Path) -> None:
    (root / os.fsdecode("训练".encode("gbk"))).write_bytes(b"x")

    (key,) = keys(folder)

    assert folder.read(key) == b"x"


def test_a_file_in_the_way_is_reported(folder: FileStorage) -> None:
    folder.write("a", b"")
    folder.write("c/d", b"")

    with pytest.raises(StorageError, match=r"'a/b'.*Not a directory"):
        folder.write("a/b", b"")
    with pytest.raises(StorageError, match="Is a directory"):
        folder.write("c", b"")
    with pytest.raises(StorageError, match="Is a directory"):
        folder.create("c", b"")


def test_files_of_other_encodings_are_not_listed(bucket: FileStorage, root: Path) -> None:
    for name in ("50%", "%zz", "%+x", "a%41"):
        (root / name).write_bytes(b"")

    assert keys(bucket) == []


def test_a_full_disk_is_reported_with_the_path(bucket: FileStorage, root: Path) -> None:
    class Full(Broken):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as caught:
        bucket.write("a/b", Full(b""))

    assert caught.value.filename == str(root / "a" / "b")
    assert keys(bucket) == []
    assert os.listdir(root / "a") == []


def test_what_the_disk_refuses_becomes_a_sentence(bucket: FileStorage) -> None:
    class Failing(Broken):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    with pytest.raises(StorageError, match=r"'a' in .*Input/output error"):
        bucket.write("a", Failing(b""))


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from danlu.storage.local import FileStorage

class Source:
    left = 3
    def read(self, size):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return b"x" * 1000

FileStorage(Path(sys.argv[1]), plain=False).write("a/b", Source())
"""


def test_killed_writer_leaves_old_object_and_is_swept(bucket: FileStorage, root: Path) -> None:
    bucket.write("a/b", b"old")
    killed = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(root)], check=False)
    (unfinished,) = (name for name in os.listdir(root / "a") if name != "b")

    assert killed.returncode == -9
    assert bucket.read("a/b") == b"old"
    assert keys(bucket) == ["a/b"]
    sweep(root)
    assert len(os.listdir(root / "a")) == 2, "it may be one that is written just now"
    os.utime(root / "a" / unfinished, (time.time() - 3600,) * 2)
    sweep(root)
    assert os.listdir(root / "a") == ["b"]


def test_a_living_writer_is_not_swept(bucket: FileStorage, root: Path) -> None:
    def look() -> None:
        for name in os.listdir(root / "a"):
            os.utime(root / "a" / name, (0, 0))
        sweep(root)

    bucket.write("a/b", Broken(b"slow", then=look))

    assert bucket.read("a/b") == b"slow"


def test_the_users_own_dot_files_are_objects(folder: FileStorage, root: Path) -> None:
    (root / ".tmp-mine").write_bytes(b"")
    (root / ".danlu-tmp-mine").write_bytes(b"")
    (root / temporary("0123456789ab")).write_bytes(b"")

    assert keys(folder) == [".danlu-tmp-mine", ".tmp-mine"]


def test_object_is_visible_while_folder_replaces_it(bucket: FileStorage) -> None:
    rounds, done = 200, threading.Event()
    missing: list[str] = []

    def watch() -> None:
        while not done.is_set():
            if bucket.read("a") is None:
                missing.append("a")

    bucket.write("a", b"kept")
    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(rounds):
        bucket.write("a/b", b"")
        bucket.delete("a/b")
        bucket.write("a", b"kept")
    done.set()
    watcher.join()

    assert missing == []


def test_writers_and_deleters_do_not_lose_objects(bucket: FileStorage) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(60):
                key = f"deep/er/{number}-{turn}"
                bucket.write(key, b"x")
                assert bucket.read(key) == b"x"
                bucket.delete(key)
            bucket.write(f"deep/er/{number}", b"stays")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert keys(bucket) == [f"deep/er/{number}" for number in range(6)]


def test_the_last_delete_leaves_no_folders(bucket: FileStorage, root: Path) -> None:
    bucket.write("a/b/c", b"")
    bucket.write("a/d", b"")

    bucket.delete("a/b/c")
    assert os.listdir(root / "a") == ["d"]
    bucket.delete("a/d")
    assert os.listdir(root) == []
