"""What tests of the cache share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.storage.cache import ContentCache
from danlu.storage.removal import remove


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ContentCache]:
    yield ContentCache(tmp_path / "cache", limit=1000)
    remove(tmp_path / "cache")  # read-only folders are more than pytest can tidy up
