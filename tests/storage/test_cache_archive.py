"""Code archives in the cache: checked against their name, unpacked once."""

import hashlib
import os
import stat
from pathlib import Path

import pytest
from tests.storage.sample_archives import tar_gz

from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.archive import ArchiveLimits
from danlu.storage.cache import ContentCache
from danlu.storage.locate import Location, Stores, code_uri

LIMITS = ArchiveLimits(total=1 << 20, files=100)


@pytest.fixture
def stores(tmp_path: Path) -> Stores:
    return Stores(tmp_path / "store")


def stored(stores: Stores, packed: bytes) -> Location:
    location = stores.at(code_uri(hashlib.sha256(packed).hexdigest()))
    location.storage.write(location.key, packed)
    return location


def test_code_is_unpacked_once(cache: ContentCache, stores: Stores) -> None:
    location = stored(stores, tar_gz({"train.py": b"print()", "pkg/a.py": b""}))

    tree = cache.archive(location, "job", LIMITS)
    again = cache.archive(location, "job-2", LIMITS)

    assert (tree.path / "train.py").read_bytes() == b"print()"
    assert stat.S_IMODE((tree.path / "pkg").stat().st_mode) == 0o555
    assert tree.size == 7
    assert again.hit
    assert os.listdir(cache.root / "trees") == [tree.digest]


def test_damaged_code_is_reported(cache: ContentCache, stores: Stores) -> None:
    location = stored(stores, tar_gz({"train.py": b"print()"}))
    location.storage.write(location.key, tar_gz({"train.py": b"evil()"}))

    with pytest.raises(StorageError, match="is damaged: its SHA-256 is"):
        cache.archive(location, "job", LIMITS)

    assert os.listdir(cache.root / "trees") == []


@pytest.mark.parametrize(
    ("packed", "reason"),
    [
        (tar_gz({"../x": b""}), "'..'"),
        (tar_gz({"big": bytes(2 << 20)}), "unpacks to more than 1.0 MB"),
        (tar_gz({"a": b""})[:-3], "cut off"),
    ],
    ids=["leads out", "too large", "cut off"],  # the bytes have the time in them
)
def test_bad_code_is_refused_and_leaves_nothing(
    cache: ContentCache, stores: Stores, packed: bytes, reason: str
) -> None:
    with pytest.raises(Refused) as caught:
        cache.archive(stored(stores, packed), "job", LIMITS)

    assert reason in caught.value.message
    assert os.listdir(cache.root / "trees") == []


def test_archive_of_bucket_is_known_by_its_etag(cache: ContentCache, stores: Stores) -> None:
    location = stores.at("obs://bucket/code.tar.gz")
    location.storage.write(location.key, tar_gz({"a": b"1"}))
    first = cache.archive(location, "job", LIMITS)
    assert cache.archive(location, "job", LIMITS).hit

    location.storage.write(location.key, tar_gz({"a": b"2", "b": b""}))

    assert cache.archive(location, "job", LIMITS).digest != first.digest
    assert cache.tree(location, "job").digest not in {first.digest}


def test_missing_code_is_reported(cache: ContentCache, stores: Stores) -> None:
    with pytest.raises(NotFound, match="no code archive named 'danlu://code/0000"):
        cache.archive(stores.at(code_uri("0" * 64)), "job", LIMITS)
