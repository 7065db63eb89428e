"""What tests of the cache share, and those of a small S3."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contracts.s3_server import SmallS3, endpoint, serve
from danlu.storage import paths
from danlu.storage.cache import ContentCache
from danlu.storage.folders import remove_tree
from danlu.storage.locate import Stores
from danlu.storage.s3.storage import S3Storage
from small_s3 import Clock


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ContentCache]:
    yield ContentCache(tmp_path / "cache", limit=1000)
    remove_tree(tmp_path / "cache")  # read-only folders are more than pytest can tidy up


@pytest.fixture
def large(cache: ContentCache) -> ContentCache:
    """The cache with space for files of many megabytes."""
    cache.limit = 1 << 30
    return cache


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[Path]:
    """The embedded store that paths are looked for in."""
    paths.use(Stores(tmp_path / "store"))
    yield tmp_path / "store"
    paths.use(None)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service() -> SmallS3:
    return SmallS3("bucket")


@pytest.fixture
def url(service: SmallS3) -> Iterator[str]:
    with serve(service) as url:
        yield url


@pytest.fixture
def storage(url: str, clock: Clock) -> S3Storage:
    """A bucket of the small S3, with retries that take no time."""
    return S3Storage(endpoint(url), "bucket", retry=clock.retry)
