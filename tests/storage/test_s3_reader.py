"""Reading an object as a file: by blocks, in any order, and never two objects mixed."""

import io

import pytest

from contracts.s3_server import SmallS3
from danlu.errors import StorageError
from danlu.storage.s3.storage import AHEAD, ObjectReader, S3Storage
from small_s3 import BIG

DATA = bytes(range(256)) * 4  # 64 blocks of 16 bytes


class Source:
    def __init__(self) -> None:
        self.fetched: list[int] = []

    def fetch(self, start: int, end: int) -> bytes:
        self.fetched.append(start // 16)
        return DATA[start:end]

    def reader(self) -> ObjectReader:
        return ObjectReader(self.fetch, len(DATA), DATA[:16], block=16)


@pytest.mark.parametrize("step", [1, 7, 16, 40, 5000])
def test_every_byte_comes_once_and_in_order(step: int) -> None:
    source = Source()
    with source.reader() as reader:
        pieces = list(iter(lambda: reader.read(step), b""))

    assert b"".join(pieces) == DATA
    assert sorted(source.fetched) == list(range(1, 64))


def test_all_at_once() -> None:
    with Source().reader() as reader:
        reader.seek(10)
        assert reader.read() == DATA[10:]
        assert reader.read() == b""


def test_sequential_read_prefetches_next_blocks() -> None:
    source = Source()
    with source.reader() as reader:
        reader.seek(16)
        reader.read(1)
        reader._pool.shutdown()  # type: ignore[union-attr]  # waits for what was begun

        assert sorted(source.fetched) == [1, *range(2, 2 + AHEAD)]


def test_random_read_fetches_only_its_blocks() -> None:
    source = Source()
    with source.reader() as reader:
        for block in (40, 3, 20, 60):
            reader.seek(block * 16 + 5)
            assert reader.read(4) == DATA[block * 16 + 5 : block * 16 + 9]

    assert source.fetched == [40, 3, 20, 60]


def test_positions_are_those_of_a_file() -> None:
    with Source().reader() as reader:
        assert reader.seek(-4, io.SEEK_END) == len(DATA) - 4
        assert reader.read(10) == DATA[-4:]
        assert reader.seek(5000) == 5000
        assert reader.read(1) == b""
        assert reader.seek(2) == 2
        assert reader.seek(3, io.SEEK_CUR) == 5
        assert reader.tell() == 5
        with pytest.raises(ValueError, match="negative seek"):
            reader.seek(-1)


def test_failing_fetch_is_reported_where_it_is_read() -> None:
    def fail(start: int, end: int) -> bytes:
        raise StorageError(f"no bytes from {start}")

    with ObjectReader(fail, 100, b"x" * 16, block=16) as reader:
        assert reader.read(16) == b"x" * 16
        with pytest.raises(StorageError, match="no bytes from 16"):
            reader.read(1)


def test_a_large_object_is_read_whole(storage: S3Storage) -> None:
    storage.write("a", BIG)

    with storage.open("a") as file:
        assert b"".join(iter(lambda: file.read(1 << 20), b"")) == BIG
    with storage.open("a") as file:
        file.seek(-7, io.SEEK_END)
        assert file.read() == b"the end"


@pytest.mark.parametrize("key", ["a", "odd//a"])
def test_object_replaced_while_read_is_never_mixed(storage: S3Storage, key: str) -> None:
    storage.write(key, BIG)

    with storage.open(key) as file:
        file.read(100)
        storage.write(key, BIG[::-1])
        file.seek(20 << 20)
        with pytest.raises(StorageError, match="was replaced or removed while it was read"):
            file.read(100)


def test_object_removed_while_it_is_read_is_reported(service: SmallS3, storage: S3Storage) -> None:
    storage.write("a", BIG)

    with storage.open("a") as file:
        service.buckets["bucket"].clear()
        with pytest.raises(StorageError, match="was replaced or removed while it was read"):
            file.read()
