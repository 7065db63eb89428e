"""The store of servers that share their records."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from danlu.errors import Refused
from danlu.records.memory import MemoryRecords
from danlu.service.one_store import check_one_store


def test_servers_with_one_store_agree(tmp_path):
    records, together = MemoryRecords(), threading.Barrier(4)

    def come(_):
        together.wait()
        check_one_store(tmp_path / "store", records)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come, range(4)))

    assert [file.name for file in (tmp_path / "store").iterdir()] == ["store-id"]


def test_a_server_with_another_store_is_refused(tmp_path):
    records = MemoryRecords()
    check_one_store(tmp_path / "store", records)

    with pytest.raises(Refused, match="not the one the other servers") as caught:
        check_one_store(tmp_path / "another", records)

    assert "DANLU_STORE" in caught.value.hint
