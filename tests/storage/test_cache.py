"""What was fetched once is there for the next job, whole and unchanged."""

import io
import json
import os
import stat
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.errors import NotFound, StorageError
from danlu.storage.api import Entry
from danlu.storage.archive import ArchiveLimits
from danlu.storage.cache import CachedTree, ContentCache
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, Stores

LIMITS = ArchiveLimits(total=1 << 20, files=100)


class Counting(MemoryStorage):
    """Counts how often objects are opened."""

    opened = 0

    def open(self, key: str) -> BinaryIO:
        self.opened += 1
        return super().open(key)


def data(*objects: tuple[str, bytes], bucket: str = "bucket") -> Location:
    return Location(Counting(objects), "", f"obs://{bucket}/")


def opened(location: Location) -> int:
    assert isinstance(location.storage, Counting)
    return location.storage.opened


def left_over(cache: ContentCache) -> list[str]:
    return [name for name in os.listdir(cache.root / "trees") if name.startswith(".")]


def test_same_listing_at_two_services_is_two_trees(cache: ContentCache) -> None:
    one, other = MemoryStorage([("a", b"1")]), MemoryStorage([("a", b"2")])  # etags are alike
    here = Location(one, "", "obs://bucket/")
    there = Location(other, "", "ks3://bucket/", service="https://two.example.com")

    assert (cache.tree(here, "job").path / "a").read_bytes() == b"1"
    assert (cache.tree(there, "job").path / "a").read_bytes() == b"2"


def test_a_tree_is_fetched_once(cache: ContentCache) -> None:
    location = data(("a", b"1"), ("d/b", b"22"), ("e/", b""))

    first = cache.tree(location, "job-1")
    second = cache.tree(location, "job-2")

    assert not first.hit
    assert second == CachedTree(first.path, first.digest, 3, hit=True)
    assert (first.path / "d" / "b").read_bytes() == b"22"
    assert (first.path / "e").is_dir()
    assert opened(location) == 2
    assert left_over(cache) == []


def test_a_tree_is_read_only(cache: ContentCache) -> None:
    path = cache.tree(data(("d/a", b"1"), ("e/", b"")), "job").path

    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in (path, *path.rglob("*"))}

    assert {mode for p, mode in modes.items() if p.is_dir()} == {0o555}
    assert {mode for p, mode in modes.items() if p.is_file()} == {0o444}


def test_changed_objects_are_another_tree(cache: ContentCache) -> None:
    location = data(("a", b"1"))
    before = cache.tree(location, "job")
    location.storage.write("a", b"2")

    after = cache.tree(location, "job")

    assert not after.hit
    assert before.digest != after.digest
    assert (before.path / "a").read_bytes() == b"1"
    assert (after.path / "a").read_bytes() == b"2"


def test_places_that_look_the_same_are_distinguished(cache: ContentCache) -> None:
    trees = [
        cache.tree(data(("a", b"1")), "job"),
        cache.tree(data(("a", b"1"), bucket="other"), "job"),
        cache.tree(data(("a", b"1"), ("e/", b"")), "job"),
        cache.tree(data(("b", b"1")), "job"),
        cache.tree(data(("a", b"12")), "job"),
    ]

    assert len({tree.digest for tree in trees}) == 5


def test_the_scheme_does_not_matter(tmp_path: Path, cache: ContentCache) -> None:
    stores = Stores(tmp_path / "store")
    stores.at("s3://bucket/d").storage.write("d/a", b"1")

    assert not cache.tree(stores.at("s3://bucket/d"), "job").hit
    assert cache.tree(stores.at("obs://bucket/d/"), "job").hit


def test_single_object_is_folder_with_one_file(cache: ContentCache) -> None:
    location = Location(MemoryStorage([("d/data.csv", b"1")]), "d/data.csv", "obs://b12/d/data.csv")

    assert os.listdir(cache.tree(location, "job").path) == ["data.csv"]


def test_what_is_not_there_leaves_no_trace(cache: ContentCache) -> None:
    with pytest.raises(NotFound, match="obs://bucket/"):
        cache.tree(data(), "job")

    assert cache.owners() == []


def test_fetch_that_fails_leaves_neither_tree_nor_pin(cache: ContentCache) -> None:
    class Short(MemoryStorage):
        def open(self, key: str) -> BinaryIO:
            return io.BytesIO(b"")

    with pytest.raises(StorageError, match="was incomplete"):
        cache.tree(Location(Short([("a", b"1")]), "", "obs://bucket/"), "job")

    assert os.listdir(cache.root / "trees") == []
    assert not (cache.root / "info").exists()
    assert os.listdir(cache.root / "pins" / "job") == []


def test_tree_changed_during_fetch_is_fetched_again(cache: ContentCache) -> None:
    class Restless(MemoryStorage):
        times = 1

        def open(self, key: str) -> BinaryIO:
            file = super().open(key)
            if self.times:
                self.times -= 1
                self.write("a", b"new")
            return file

    location = Location(Restless([("a", b"old")]), "", "obs://bucket/")

    tree = cache.tree(location, "job")

    assert (tree.path / "a").read_bytes() == b"new"
    assert cache.tree(location, "job").hit


def test_threads_that_want_the_same_fetch_it_once(cache: ContentCache) -> None:
    location = data(*((f"{number}", b"x") for number in range(50)))
    gate, trees = threading.Barrier(6), []

    def want(owner: str) -> None:
        gate.wait()
        trees.append(cache.tree(location, owner))

    threads = [threading.Thread(target=want, args=(f"job-{n}",)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened(location) == 50
    assert sorted(tree.hit for tree in trees) == [False, True, True, True, True, True]
    assert os.listdir(cache.root / "locks") == []


def test_progress_is_reported_and_may_end_a_wait(cache: ContentCache) -> None:
    class Enough(Exception):
        pass

    def enough(done: int, total: int) -> None:
        assert (done, total) == (0, 1)
        raise Enough

    location = data(("a", b"1"))
    digest = cache.tree(location, "job").digest

    with cache._entries.locked(digest), pytest.raises(Enough):
        cache.tree(location, "other", enough)

    assert cache.tree(location, "other").hit


class TestAfterAReboot:
    """What was written last before the power went may never have reached the disk."""

    @pytest.fixture
    def location(self) -> Location:
        return data(("a", b"12345"), ("d/b", b""))

    @pytest.fixture
    def tree(self, cache: ContentCache, location: Location) -> CachedTree:
        tree = cache.tree(location, "job")
        info = cache.root / "info" / f"{tree.digest}.json"
        info.write_text(json.dumps({**json.loads(info.read_text()), "boot": "an earlier one"}))
        return tree

    def test_a_whole_tree_is_used(
        self, cache: ContentCache, location: Location, tree: CachedTree
    ) -> None:
        assert cache.tree(location, "job").hit

        (tree.path / "a").chmod(0o644)
        (tree.path / "a").write_bytes(b"00000")
        assert cache.tree(location, "job").hit, "looked at once, then known to be whole"

    @pytest.mark.parametrize("damage", [b"", b"123", b"\0\0\0\0\0", None])
    def test_a_damaged_one_is_fetched_again(
        self, cache: ContentCache, location: Location, tree: CachedTree, damage: bytes | None
    ) -> None:
        (tree.path / "a").chmod(0o644)
        tree.path.chmod(0o755)
        if damage is None:
            (tree.path / "a").unlink()
        else:
            (tree.path / "a").write_bytes(damage)

        again = cache.tree(location, "job")

        assert not again.hit
        assert (again.path / "a").read_bytes() == b"12345"

    def test_without_check_sums_it_is_fetched_again(
        self, cache: ContentCache, location: Location, tree: CachedTree
    ) -> None:
        (cache.root / "info" / f"{tree.digest}.sums").write_text("half of {")

        assert not cache.tree(location, "job").hit


@pytest.mark.parametrize("owner", ["", "..", "a/b", ".hidden", "a\0b", "x" * 300])
def test_an_owner_has_a_plain_name(cache: ContentCache, owner: str) -> None:
    with pytest.raises(ValueError, match="cannot own a pin"):
        cache.pin(owner, "digest")
    with pytest.raises(ValueError, match="cannot own a pin"):
        cache.unpin(owner)


def test_the_cache_reads_real_folders(tmp_path: Path, cache: ContentCache) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_bytes(b"1")
    location = Location(FileStorage(tmp_path / "data", plain=True), "", f"file://{tmp_path}/data")

    assert not cache.tree(location, "job").hit
    assert cache.tree(location, "job").hit
    assert isinstance(location.storage.stat("a"), Entry)
