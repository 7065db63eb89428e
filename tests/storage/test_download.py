"""From a storage to a folder: whole files, nothing outside, changes noticed."""

import errno
import hashlib
import io
import os
import random
from pathlib import Path
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.api import Entry
from danlu.storage.locate import Location, Stores, file_uri
from danlu.storage.transfer import pull


def bucket(*objects: tuple[str, bytes]) -> Location:
    return Location(MemoryStorage(objects), "", "obs://bucket/")


def files(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if path.is_file() or not any(path.iterdir())
    }


def test_a_tree_comes_with_empty_files_and_folders(tmp_path: Path) -> None:
    location = bucket(("a", b"1"), ("d/b", b""), ("d/e/", b""), ("f/", b""), ("f/g", b"22"))
    reported: list[tuple[int, int]] = []

    manifest = pull(location, tmp_path / "to", lambda done, total: reported.append((done, total)))

    assert files(tmp_path / "to") == {"a": b"1", "d/b": b"", "d/e": None, "f/g": b"22"}
    assert manifest.size == 3
    assert manifest.folders == ("d/e",)
    assert manifest.files["f/g"].sha256 == hashlib.sha256(b"22").hexdigest()
    assert manifest.files["a"].mtime_ns == (tmp_path / "to" / "a").stat().st_mtime_ns
    assert reported[0] == (0, 3)
    assert reported[-1] == (3, 3)


def test_a_single_object_comes_by_its_name(tmp_path: Path) -> None:
    location = Location(MemoryStorage([("d/data.csv", b"x")]), "d/data.csv", "obs://b/d/data.csv")

    assert list(pull(location, tmp_path).files) == ["data.csv"]


def test_missing_location_is_reported_by_its_uri(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no object named 'obs://bucket/'"):
        pull(bucket(), tmp_path / "to")

    assert not (tmp_path / "to").exists()


def test_an_empty_folder_is_an_empty_tree(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()

    manifest = pull(Stores(tmp_path / "s").at(file_uri(tmp_path / "from")), tmp_path / "to")

    assert manifest.files == {}
    assert (tmp_path / "to").is_dir()


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        (["a/../../x"], "'..' cannot be part of a path"),
        ([".."], "'..' cannot"),
        (["ok", "a/.."], "'..' cannot"),
        (["a\0b"], "cannot be part of a path"),
        (["x" * 256], "cannot be part of a path"),
        (["a/b", "a//b"], "'a/b' of obs://bucket/ cannot become a file: 'a//b' has the same path"),
        (["a", "a/b"], "there are objects below it"),
        (["a/"], "holds bytes"),
        (["/"], "holds bytes"),
    ],
)
def test_invalid_key_is_refused_before_any_write(
    tmp_path: Path, keys: list[str], reason: str
) -> None:
    with pytest.raises(Refused) as caught:
        pull(bucket(*((key, b"x") for key in keys)), tmp_path / "to")

    assert reason in caught.value.message
    assert not (tmp_path / "to").exists()


def test_a_listing_can_lie_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "canary").write_bytes(b"untouched")
    pieces = ["..", ".", "", "/", "\\", "%2e", "a", "b", "\0", "~", "canary", "to", "\n", "x" * 90]
    chance = random.Random(7)
    for _ in range(1500):
        key = chance.choice(("", "/")).join(chance.choices(pieces, k=chance.randint(1, 7)))
        try:
            pull(bucket((key, b"attack")), tmp_path / "to")
        except (Refused, StorageError):
            continue
        finally:
            assert sorted(set(os.listdir(tmp_path)) - {"to"}) == ["canary"]

    assert (tmp_path / "canary").read_bytes() == b"untouched"


def test_keys_with_empty_parts_are_laid_out_without(tmp_path: Path) -> None:
    pull(bucket(("out//model", b"1"), ("./x", b"2"), ("/abs", b"3")), tmp_path / "to")

    assert files(tmp_path / "to") == {"out/model": b"1", "x": b"2", "abs": b"3"}


def test_empty_object_that_marks_folder_gives_way(tmp_path: Path) -> None:
    pull(bucket(("a", b""), ("a/b", b"1")), tmp_path / "to")

    assert files(tmp_path / "to") == {"a/b": b"1"}


def test_links_in_the_target_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "to" / "d").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "f").write_bytes(b"untouched")
    (tmp_path / "to" / "f").symlink_to(tmp_path / "outside" / "f")

    with pytest.raises(StorageError, match="cannot be written"):
        pull(bucket(("d/x", b"attack")), tmp_path / "to")
    with pytest.raises(StorageError, match="cannot be written"):
        pull(bucket(("d/sub/", b"")), tmp_path / "to")
    with pytest.raises(StorageError, match="cannot be written"):
        pull(bucket(("x", b"")), tmp_path / "outside" / "f")
    pull(bucket(("f", b"mine")), tmp_path / "to")

    assert os.listdir(tmp_path / "outside") == ["f"]
    assert (tmp_path / "outside" / "f").read_bytes() == b"untouched"
    assert (tmp_path / "to" / "f").read_bytes() == b"mine"
    assert not (tmp_path / "to" / "f").is_symlink()


class Short(MemoryStorage):
    """Gives only half of an object, ``times`` times; without an error."""

    def __init__(self, times: int, *objects: tuple[str, bytes]) -> None:
        super().__init__(objects)
        self.times = times

    def open(self, key: str) -> BinaryIO:
        file = super().open(key)
        self.times -= 1
        if self.times >= 0:
            data = file.read()
            return io.BytesIO(data[: len(data) // 2])
        return file


def test_a_download_that_came_short_is_tried_again(tmp_path: Path) -> None:
    reported: list[int] = []
    location = Location(Short(2, ("a", b"x" * 1000)), "", "obs://bucket/")

    manifest = pull(location, tmp_path / "to", lambda done, _: reported.append(done))

    assert (tmp_path / "to" / "a").read_bytes() == b"x" * 1000
    assert manifest.files["a"].size == 1000
    assert reported[-1] == 1000


@pytest.mark.parametrize("cut", range(0, 1000, 5))
def test_a_short_file_is_never_kept(tmp_path: Path, cut: int) -> None:
    class Cut(MemoryStorage):
        def open(self, key: str) -> BinaryIO:
            return io.BytesIO(super().open(key).read(cut))

    with pytest.raises(StorageError, match=f"{cut} bytes instead of 1000"):
        pull(Location(Cut([("a", b"x" * 1000)]), "", "obs://bucket/"), tmp_path / "to")

    assert os.listdir(tmp_path / "to") == []


class Restless(MemoryStorage):
    """Replaces an object after it was opened, ``times`` times."""

    def __init__(self, times: int) -> None:
        super().__init__([("a", b"old")])
        self.times = times

    def open(self, key: str) -> BinaryIO:
        file = super().open(key)
        if self.times:
            self.times -= 1
            self.write("a", b"new")
        return file


def test_object_replaced_while_read_is_read_again(tmp_path: Path) -> None:
    pull(Location(Restless(1), "", "obs://bucket/"), tmp_path / "to")

    assert (tmp_path / "to" / "a").read_bytes() == b"new"


def test_an_object_that_never_rests_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="'a' changed while it was read"):
        pull(Location(Restless(99), "", "obs://bucket/"), tmp_path / "to")

    assert os.listdir(tmp_path / "to") == []


def test_object_removed_after_it_was_listed_is_skipped(tmp_path: Path) -> None:
    class Vanishing(MemoryStorage):
        def list(self, prefix: str = "") -> "list[Entry]":  # type: ignore[override]
            listed = list(super().list(prefix))
            self.delete("a")
            return listed

    manifest = pull(Location(Vanishing([("a", b""), ("b", b"")]), "", "obs://b/"), tmp_path / "to")

    assert list(manifest.files) == ["b"]


def test_full_disk_is_reported_without_partial_file(tmp_path: Path) -> None:
    class Full(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell():
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().read(3)

    class FullStorage(MemoryStorage):
        def open(self, key: str) -> BinaryIO:
            return Full(super().open(key).read())

    with pytest.raises(OSError, match="No space left") as caught:
        pull(Location(FullStorage([("d/a", b"12345")]), "", "obs://b/"), tmp_path / "to")

    assert caught.value.filename == str(tmp_path / "to" / "d" / "a")
    assert os.listdir(tmp_path / "to" / "d") == []


def test_progress_may_end_the_transfer(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def progress(done: int, total: int) -> None:
        if done:
            raise Stop

    with pytest.raises(Stop):
        pull(bucket(("a", b"1"), ("b", b"2")), tmp_path / "to", progress)

    assert os.listdir(tmp_path / "to") == []
