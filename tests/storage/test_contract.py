"""The contract of storages, held against each of ours."""

from pathlib import Path

import pytest

from danlu.storage.local import FileStorage
from danlu.testing.memory import MemoryStorage
from danlu.testing.storage import BucketContract, StorageContract

UGLY = "blank 'quote\" 数据\nline"


class TestMemoryStorage(BucketContract):
    @pytest.fixture
    def storage(self) -> MemoryStorage:
        return MemoryStorage()


class TestBucket(BucketContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> FileStorage:
        return FileStorage(tmp_path / UGLY, plain=False)


class TestFolder(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> FileStorage:
        return FileStorage(tmp_path / UGLY, plain=True)
