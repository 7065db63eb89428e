"""The cache keeps its limit, and every entry in use."""

import os
from typing import BinaryIO

import pytest

from contracts.storage import MemoryStorage
from danlu.storage.cache import CachedTree, ContentCache
from danlu.storage.locate import Location


def data(key: str) -> Location:
    return Location(MemoryStorage([(key, b"x" * 200)]), "", "obs://bucket/")


def left_over(cache: ContentCache) -> list[str]:
    return [name for name in os.listdir(cache.root / "trees") if name.startswith(".")]


@pytest.fixture
def trees(cache: ContentCache) -> list[CachedTree]:
    """Five trees of 200 bytes; the first was used longest ago."""
    trees = []
    for number in range(5):
        location = data(f"{number}")
        tree = cache.tree(location, f"job-{number}")
        os.utime(cache.root / "info" / f"{tree.digest}.json", (number, number))
        trees.append(tree)
    return trees


def test_the_longest_unused_goes_first(cache: ContentCache, trees: list[CachedTree]) -> None:
    for owner in cache.owners():
        cache.unpin(owner)
    os.utime(cache.root / "info" / f"{trees[0].digest}.json", (99, 99))

    freed = cache.evict(600)

    assert freed == 400
    assert [tree.path.exists() for tree in trees] == [True, False, False, True, True]
    assert left_over(cache) == []


def test_a_pinned_tree_stays_whatever_the_limit(
    cache: ContentCache, trees: list[CachedTree]
) -> None:
    cache.unpin("job-2")

    assert cache.evict(0) == 200
    assert [tree.path.exists() for tree in trees] == [True, True, False, True, True]
    cache.unpin("job-0")
    cache.unpin("job-0")
    assert cache.evict(0) == 200


def test_tree_of_two_owners_stays_until_released(
    cache: ContentCache, trees: list[CachedTree]
) -> None:
    cache.pin("another", trees[0].digest)
    cache.unpin("job-0")
    assert cache.evict(0) == 0

    cache.unpin("another")

    assert cache.evict(0) == 200


def test_the_limit_is_kept_by_itself(cache: ContentCache, trees: list[CachedTree]) -> None:
    cache.unpin("job-1")

    cache.tree(data("new"), "job-5")

    assert [tree.path.exists() for tree in trees] == [True, False, True, True, True]


def test_a_hit_counts_as_use(cache: ContentCache, trees: list[CachedTree]) -> None:
    location = data("0")
    assert cache.tree(location, "job-0").digest == trees[0].digest
    for owner in cache.owners():
        cache.unpin(owner)

    cache.evict(200)

    assert [tree.path.exists() for tree in trees] == [True, False, False, False, False]


def test_tree_whose_lock_is_held_is_left_alone(
    cache: ContentCache, trees: list[CachedTree]
) -> None:
    cache.unpin("job-0")

    with cache._entries.locked(trees[0].digest):
        assert cache.evict(0) == 0

    assert cache.evict(0) == 200


def test_unreferenced_entry_is_evicted(cache: ContentCache, trees: list[CachedTree]) -> None:
    cache.unpin("job-4")
    os.unlink(cache.root / "info" / f"{trees[4].digest}.json")

    cache.evict(799)

    assert not trees[4].path.exists()


def test_a_full_disk_evicts_first(cache: ContentCache, trees: list[CachedTree]) -> None:
    class Full(MemoryStorage):
        """Has no free space as long as the unpinned tree is there."""

        def open(self, key: str) -> BinaryIO:
            if trees[3].path.exists():
                raise OSError(28, "No space left on device")
            return super().open(key)

    cache.unpin("job-3")

    assert not cache.tree(Location(Full([("a", b"1")]), "", "obs://full/"), "job").hit


def test_a_disk_that_stays_full_is_reported(cache: ContentCache, trees: list[CachedTree]) -> None:
    class Full(MemoryStorage):
        def open(self, key: str) -> BinaryIO:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        cache.tree(Location(Full([("a", b"1")]), "", "obs://full/"), "job")

    assert str(caught.value.filename).endswith("/a")
    assert left_over(cache) == []
