"""The store of servers that share their records."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from danlu.errors import Refused
from danlu.service.servers.home import check_one_store


def test_servers_with_one_store_agree(tmp_path, new_records):
    records, together = new_records(), threading.Barrier(4)

    def come(_):
        together.wait()
        check_one_store(tmp_path / "store", records)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(come, range(4)))

    assert [file.name for file in (tmp_path / "store").iterdir()] == ["store-id"]


def test_a_server_with_another_store_is_refused(tmp_path, new_records):
    records = new_records()
    check_one_store(tmp_path / "store", records)

    with pytest.raises(Refused, match="not that of the other servers") as caught:
        check_one_store(tmp_path / "another", records)

    assert "DANLU_STORE" in caught.value.hint
