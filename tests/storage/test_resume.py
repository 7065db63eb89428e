"""A transfer that was cut off goes on where it was, with the bytes that came before."""

import hashlib
import io
from pathlib import Path
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.errors import StorageError
from danlu.storage.api import Entry, matches
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Location
from danlu.storage.transfer.download import CHUNK


class Weak(MemoryStorage):
    """Fails once ``left`` bytes were read; notes from where every object was read."""

    def __init__(self, *objects: tuple[str, bytes]) -> None:
        super().__init__(objects)
        self.left = 0
        self.begun: list[tuple[str, int]] = []

    def open(self, key: str) -> BinaryIO:
        return _Stream(self, key, super().open(key).read())


class _Stream(io.BytesIO):
    def __init__(self, storage: Weak, key: str, data: bytes) -> None:
        super().__init__(data)
        self._storage, self._key, self._first = storage, key, True

    def read(self, size: int | None = -1) -> bytes:
        if self._first:
            self._storage.begun.append((self._key, self.tell()))
            self._first = False
        piece = super().read(size)
        self._storage.left -= len(piece)
        if self._storage.left < 0:
            raise StorageError("the line is dead")
        return piece


def test_what_came_before_is_not_fetched_again(large: ContentCache) -> None:
    data = bytes(range(256)) * (3 * CHUNK // 256)
    storage = Weak(("a", b"small"), ("b", data), ("c", b"last"))
    location = Location(storage, "", "obs://bucket/")
    storage.left = 2 * CHUNK + 100
    with pytest.raises(StorageError, match="dead"):
        large.tree(location, "job")
    storage.begun, storage.left = [], 1 << 30

    tree = large.tree(location, "job")

    assert storage.begun == [("b", 2 * CHUNK), ("c", 0)]
    assert (tree.path / "b").read_bytes() == data
    assert sorted(path.name for path in tree.path.iterdir()) == ["a", "b", "c"]
    sums = (large.root / "info" / f"{tree.digest}.sums").read_text()
    assert hashlib.sha256(data).hexdigest() in sums


def test_half_of_another_version_is_of_no_use(large: ContentCache) -> None:
    storage = Weak(("a", b"1" * 2 * CHUNK))
    location = Location(storage, "", "obs://bucket/")
    storage.left = CHUNK
    with pytest.raises(StorageError, match="dead"):
        large.tree(location, "job")
    storage.write("a", b"2" * 2 * CHUNK)
    storage.begun, storage.left = [], 1 << 30

    assert (large.tree(location, "job").path / "a").read_bytes() == b"2" * 2 * CHUNK
    assert storage.begun == [("a", 0)]


MiB = 1 << 20


def etag(data: bytes, part: int = 0) -> str:
    if not part:
        return hashlib.md5(data).hexdigest()
    sums = [hashlib.md5(data[at : at + part]).digest() for at in range(0, len(data), part)]
    return f"{hashlib.md5(b''.join(sums)).hexdigest()}-{len(sums)}"


@pytest.mark.parametrize("part", [0, 5 * MiB, 8 * MiB, 15 * MiB, 16 * MiB])
def test_etag_shows_whether_bytes_are_equal(part: int) -> None:
    data = bytes(17 * MiB)
    entry = Entry("key", len(data), etag(data, part))

    assert matches(io.BytesIO(data), entry)
    assert not matches(io.BytesIO(b"1" + data[1:]), entry)


@pytest.mark.parametrize("tag", ["", "v1", etag(b"x") + "-0", etag(b"x" * 9, 4), "11-17a"])
def test_etag_without_digest_is_no_match(tag: str) -> None:
    assert not matches(io.BytesIO(b"x"), Entry("key", 1, tag))


def test_existing_large_file_is_compared_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(9 * MiB))

    with open(path, "rb") as file:
        assert matches(file, Entry("key", 9 * MiB, etag(bytes(9 * MiB), 8 * MiB)))
