import pytest

from danlu.records.memory import MemoryRecords
from danlu.testing.records import RecordsContract


class TestMemoryRecords(RecordsContract):
    @pytest.fixture
    def records(self):
        return MemoryRecords()
