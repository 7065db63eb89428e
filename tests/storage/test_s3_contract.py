"""The contract of storages, held against services that speak S3."""

import time
from collections.abc import Iterator

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from contracts.storage import BucketContract, StorageContract
from danlu.errors import NotFound
from danlu.storage.s3.bucket import S3RetryPolicy
from danlu.storage.s3.storage import S3Storage
from seaweed import Seaweed


@pytest.fixture(scope="module")
def url() -> Iterator[tuple[SmallS3, str]]:
    service = SmallS3("bucket")
    with serve(service) as url:
        yield service, url


class TestSmallS3(BucketContract):
    """Every key there is: through a service that keeps them all."""

    @pytest.fixture
    def storage(self, url: tuple[SmallS3, str]) -> S3Storage:
        url[0].buckets["bucket"].clear()
        return S3Storage(endpoint(url[1]), "bucket", retry=S3RetryPolicy(20))


# SeaweedFS 4.48 keeps objects as files: it takes '//' for '/', refuses '..', and lets no part of
# a key have over 255 bytes. What it keeps must come back as it was.
UNUSUAL_KEYS = (
    "blank and 'quotes\"",
    "数据/训练集.csv",
    "%2e%2e/a",
    "..%2fa",
    "%252e",
    "a%b",
    "a+b c",
    "q=1&r=2?x#y",
    "x[1]{2}|^`<>*",
    "line\nbreak",
    "~/a",
    "-rf",
    "c:/windows",
    "a/",
    "a/b/",
)


class TestSeaweed(StorageContract):
    @pytest.fixture
    def storage(self, seaweed: Seaweed) -> S3Storage:
        return seaweed.bucket("contract")

    @pytest.mark.parametrize("key", UNUSUAL_KEYS)
    def test_odd_key_is_found_again_as_it_was(self, storage: S3Storage, key: str) -> None:
        data = b"" if key.endswith("/") else b"odd"
        storage.write(key, data)

        assert storage.read(key) == data
        assert [entry.key for entry in storage.list()] == [key]
        assert [entry.key for entry in storage.list(key)] == [key]
        assert storage.copy(key, f"copy of {key}").size == len(data)
        storage.delete(key)
        assert [entry.key for entry in storage.list()] == [f"copy of {key}"]

    def test_a_checkpoint_behind_two_slashes_is_found_again(self, storage: S3Storage) -> None:
        storage.write("ckpt//model.ckpt", b"weights")

        assert storage.read("ckpt//model.ckpt") == b"weights"
        assert storage.stat("ckpt//model.ckpt") is not None

    def test_a_listing_is_longer_than_one_page(self, storage: S3Storage) -> None:
        for number in range(1005):
            storage.write(f"many/{number:04}", b"")

        assert [e.key for e in storage.list("many/")] == [f"many/{n:04}" for n in range(1005)]

    def test_children_are_what_lies_directly_below(self, storage: S3Storage) -> None:
        for key in ("level/", "level/a", "level/b/c", "level/b/d/e", "level/b-1", "level2"):
            storage.write(key, b"" if key.endswith("/") else b"x")

        below = [entry.key for entry in storage.children("level/")]
        assert below == ["level/", "level/a", "level/b-1", "level/b/"]
        assert {"level/", "level2"} <= {entry.key for entry in storage.children("")}
        assert list(storage.children("nothing/")) == []

    def test_the_time_of_change_is_reported(self, storage: S3Storage) -> None:
        begin = time.time()
        storage.write("a", b"x")

        found = [storage.stat("a"), *storage.list("a")]
        assert all(e and abs(e.modified / 1e9 - begin) < 120 for e in found)

    def test_a_missing_object_is_reported_by_its_name(self, storage: S3Storage) -> None:
        with pytest.raises(NotFound, match="no object named 'x'"):
            storage.open("x")
