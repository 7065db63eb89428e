"""From a folder that a script writes to, to a storage."""

import os
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.errors import StorageError
from danlu.storage.api import Entry, Manifest
from danlu.storage.locate import Location, Stores, file_uri
from danlu.storage.transfer import pull, push

DATA, INDEX = "model.ckpt-1.data-00000-of-00001", "model.ckpt-1.index"


class Watched(MemoryStorage):
    """Notes every write, and does something while one key is being written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []
        self.during: dict[str, object] = {}

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        if callable(action := self.during.get(key)):
            action()
        entry = super().write(key, data)
        self.written.append(key)
        return entry


@pytest.fixture
def storage() -> Watched:
    return Watched()


@pytest.fixture
def out(storage: Watched) -> Location:
    return Location(storage, "out", "obs://bucket/out")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "输出 folder"
    folder.mkdir()
    return folder


def put(folder: Path, *paths: str, data: bytes = b"x", age: float = 10) -> None:
    """Write files whose last change is some time ago, as those of a running script mostly are."""
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        os.utime(folder / path, (time.time() - age,) * 2)


def test_a_folder_is_stored_whole_and_comes_back(
    tmp_path: Path, folder: Path, out: Location
) -> None:
    put(folder, "a", "d/b")
    put(folder, "empty", data=b"")
    (folder / "e" / "f").mkdir(parents=True)
    reported: list[tuple[int, int]] = []

    manifest = push(
        folder, out, None, lambda done, total: reported.append((done, total)), final=True
    )
    again = pull(out, tmp_path / "again")

    assert set(manifest.files) == {"a", "d/b", "empty"}
    assert manifest.folders == ("e/f",) == again.folders
    assert {p: m.sha256 for p, m in manifest.files.items()} == {
        p: m.sha256 for p, m in again.files.items()
    }
    assert reported[-1] == (2, 2)


@pytest.mark.parametrize("uri", ["obs://bucket/out", "obs://bucket/out//x/", "file"])
def test_every_kind_of_location_takes_a_folder(tmp_path: Path, folder: Path, uri: str) -> None:
    place = file_uri(tmp_path / "target" / "deep") if uri == "file" else uri
    location = Stores(tmp_path / "store").at(place)
    put(folder, "a b/数据", "checkpoint")
    (folder / "empty").mkdir()

    push(folder, location, final=True)

    assert set(pull(location, tmp_path / "again").files) == {"a b/数据", "checkpoint"}
    assert (tmp_path / "again" / "empty").is_dir()


def test_only_what_changed_is_stored_again(folder: Path, storage: Watched, out: Location) -> None:
    put(folder, "a", "b", "c")
    (folder / "e").mkdir()
    known = push(folder, out)
    storage.written.clear()
    put(folder, "b", data=b"longer")
    put(folder, "c", age=5)

    known = push(folder, out, known)

    assert storage.written == ["out/b", "out/c"]
    assert known.files["b"].size == 6
    storage.written.clear()
    assert push(folder, out, known, final=True) == known
    assert storage.written == []


def test_file_changed_just_now_is_looked_at_again(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "a", data=b"one", age=0)
    status = os.stat(folder / "a")
    known = push(folder, out)
    # The same size in the same tick of the clock: the two cannot be distinguished.
    (folder / "a").write_bytes(b"two")
    os.utime(folder / "a", ns=(status.st_atime_ns, status.st_mtime_ns))

    push(folder, out, known)

    assert storage.read("out/a") == b"two"


HOUR = 3600.0


@pytest.mark.parametrize("age", [-24 * HOUR, -2 * HOUR, 2 * HOUR, 50 * 365 * 24 * HOUR])
def test_file_with_future_time_is_stored_once(
    folder: Path, storage: Watched, out: Location, age: float
) -> None:
    """The clock was set back or forward after it was written, or a script has set its time."""
    put(folder, "a", INDEX, age=age)

    known = push(folder, out)
    known = push(folder, out, known)
    known = push(folder, out, known, final=True)

    assert storage.written == ["out/a", f"out/{INDEX}"]
    assert set(known.files) == {"a", INDEX}


@pytest.mark.parametrize("age", [-2 * HOUR, 2 * HOUR])
def test_file_is_stored_again_after_clock_change(
    folder: Path, storage: Watched, out: Location, age: float
) -> None:
    put(folder, "a", data=b"one", age=age)
    known = push(folder, out)

    put(folder, "a", data=b"two", age=0)  # of the same size
    push(folder, out, known)

    assert storage.read("out/a") == b"two"


def test_nothing_at_the_location_is_removed(folder: Path, storage: Watched, out: Location) -> None:
    storage.write("out/old", b"")
    put(folder, "a")
    known = push(folder, out)
    (folder / "a").unlink()

    known = push(folder, out, known, final=True)

    assert known == Manifest()
    assert [entry.key for entry in storage.list()] == ["out/a", "out/old"]


def test_a_missing_folder_is_an_empty_one(tmp_path: Path, out: Location) -> None:
    assert push(tmp_path / "nothing", out, final=True) == Manifest()


def test_data_is_stored_before_what_refers_to_it(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "checkpoint", INDEX, DATA, "zz")

    push(folder, out)

    assert storage.written == [f"out/{DATA}", "out/zz", f"out/{INDEX}", "out/checkpoint"]


def test_what_tensorflow_is_just_writing_waits_for_end(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "m.data-00000-of-00001.tempstate1")

    assert push(folder, out).files == {}
    assert len(push(folder, out, final=True).files) == 1


def test_growing_file_is_stored_to_its_end(folder: Path, storage: Watched, out: Location) -> None:
    put(folder, "events.out.tfevents.1", "checkpoint", data=b"12345")

    def grow() -> None:
        with open(folder / "events.out.tfevents.1", "ab") as file:
            file.write(b"678")

    storage.during["out/events.out.tfevents.1"] = grow
    known = push(folder, out)

    assert storage.read("out/events.out.tfevents.1") == b"12345"
    assert storage.read("out/checkpoint") is not None
    storage.during.clear()
    push(folder, out, known)
    assert storage.read("out/events.out.tfevents.1") == b"12345678"


def test_a_shrinking_file_leaves_what_was_stored(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "a", data=b"old")
    known = push(folder, out)
    put(folder, "a", data=b"x" * 100, age=5)
    storage.during["out/a"] = lambda: os.truncate(folder / "a", 10)

    known = push(folder, out, known)

    assert storage.read("out/a") == b"old"
    storage.during.clear()
    push(folder, out, known)
    assert storage.read("out/a") == b"x" * 10


def test_a_file_that_vanishes_is_no_error(folder: Path, storage: Watched, out: Location) -> None:
    put(folder, "a", "b")
    storage.during["out/a"] = lambda: (folder / "b").unlink(missing_ok=True)

    assert set(push(folder, out).files) == {"a"}
    put(folder, "b")
    assert set(push(folder, out, final=True).files) == {"a"}


def test_what_refers_waits_for_incomplete_data(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "checkpoint", INDEX, DATA, "other.index")
    storage.during[f"out/{DATA}"] = lambda: os.truncate(folder / DATA, 0)

    known = push(folder, out)

    assert set(known.files) == {"other.index"}
    storage.during.clear()
    put(folder, DATA)
    assert len(push(folder, out, known).files) == 4


def test_a_checkpoint_written_meanwhile_waits_for_its_data(
    folder: Path, storage: Watched, out: Location
) -> None:
    """TensorFlow goes on to the next checkpoint while the last one is being stored."""
    put(folder, "checkpoint", data=b"ckpt-1")
    put(folder, DATA, INDEX)

    def next_checkpoint() -> None:
        put(folder, "model.ckpt-2.data-00000-of-00001", "model.ckpt-2.index", age=0)
        put(folder, "checkpoint", data=b"ckpt-2", age=0)

    storage.during[f"out/{DATA}"] = next_checkpoint
    known = push(folder, out)

    assert storage.read("out/checkpoint") is None
    storage.during.clear()
    push(folder, out, known)
    assert storage.read("out/checkpoint") == b"ckpt-2"
    assert storage.read("out/model.ckpt-2.index") is not None


def test_at_the_end_a_change_is_tried_again(folder: Path, storage: Watched, out: Location) -> None:
    put(folder, "a", data=b"1234567890")
    sizes = [3, 5]

    def shrink() -> None:
        if sizes:
            os.truncate(folder / "a", sizes.pop())

    storage.during["out/a"] = shrink

    manifest = push(folder, out, final=True)

    assert storage.read("out/a") == b"123"
    assert manifest.files["a"].size == 3


def test_at_end_file_that_never_rests_is_reported(
    folder: Path, storage: Watched, out: Location
) -> None:
    put(folder, "log")

    def grow() -> None:
        with open(folder / "log", "ab") as file:
            file.write(b"more")

    storage.during["out/log"] = grow
    with pytest.raises(StorageError, match="log: changed while it was read"):
        push(folder, out, final=True)


def test_storage_that_changes_data_is_reported(folder: Path) -> None:
    class Forgetful(MemoryStorage):
        def write(self, key: str, data: bytes | BinaryIO) -> Entry:
            entry = super().write(key, data)
            self.delete(key)
            return entry

    put(folder, "a")

    with pytest.raises(StorageError, match="did not keep the object 'a'"):
        push(folder, Location(Forgetful(), "", "obs://bucket/"))


def test_failing_storage_is_reported_and_next_push_continues(
    folder: Path, storage: Watched, out: Location
) -> None:
    def fail() -> None:
        raise StorageError("The store does not answer.")

    put(folder, "a", "b")
    storage.during["out/b"] = fail
    with pytest.raises(StorageError, match="does not answer"):
        push(folder, out)

    storage.during.clear()
    assert len(push(folder, out).files) == 2
