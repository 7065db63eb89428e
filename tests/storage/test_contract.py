"""The contract of storages, held against each of ours."""

from pathlib import Path

import pytest

from contracts.storage import BucketContract, MemoryStorage, StorageContract
from danlu.storage.local import FileStorage
from danlu.storage.scratch import ScratchStorage

UGLY = "blank 'quote\" 数据\nline"


class TestMemoryStorage(BucketContract):
    @pytest.fixture
    def storage(self) -> MemoryStorage:
        return MemoryStorage()


class TestBucket(BucketContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> FileStorage:
        return FileStorage(tmp_path / UGLY, plain=False)


class TestScratch(StorageContract):
    """Changes go to a folder of another bucket."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> ScratchStorage:
        scratch = FileStorage(tmp_path / "scratch", plain=False)
        return ScratchStorage(FileStorage(tmp_path / UGLY, plain=False), scratch, "job/")


class TestFolder(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> FileStorage:
        return FileStorage(tmp_path / UGLY, plain=True)
