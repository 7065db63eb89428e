"""The contract tests for job file stores, and an object store in memory."""

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from danlu.taskdir.job_files import JobFileStore
from danlu.taskdir.log import LogReader, LogWriter


class MemoryObjects:
    """An object store in memory for :class:`danlu.taskdir.job_files.StoredJobFiles`."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        data = self.values.get(key)
        if data is None:
            return None
        return data[start:] if size is None else data[start : start + size]

    def write(self, key: str, data: bytes) -> None:
        self.values[key] = data

    def create(self, key: str, data: bytes) -> bool:
        with self._lock:
            return self.values.setdefault(key, data) is data

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return [(key, len(data)) for key, data in self.values.items() if key.startswith(prefix)]

    def delete(self, key: str) -> None:
        self.values.pop(key, None)


class JobFileStoreContract:
    """All tests that a job file store must pass. Requires an empty one as fixture ``store``."""

    @pytest.fixture
    def store(self) -> JobFileStore:
        raise NotImplementedError

    def test_put_value_is_returned_and_may_be_replaced(self, store: JobFileStore) -> None:
        store.put("1/worker-0/plan.json", b"first, and longer")
        store.put("1/worker-0/plan.json", b"second")

        assert store.get("1/worker-0/plan.json") == b"second"

    def test_what_is_not_there_is_none(self, store: JobFileStore) -> None:
        store.put("1/a", b"")

        assert store.get("1/a") == b""
        assert store.get("1/b") is None
        assert store.get("2/a") is None
        assert store.read("2/a", 0, 10) == b""
        assert list(store.names("2/")) == []

    def test_created_once_and_never_changed(self, store: JobFileStore) -> None:
        assert store.create("1/worker-0/agent.json", b"first")
        assert not store.create("1/worker-0/agent.json", b"second")

        assert store.get("1/worker-0/agent.json") == b"first"
        assert [name for name, _ in store.names("")] == ["1/worker-0/agent.json"]

    def test_of_many_creators_at_once_exactly_one_wins(self, store: JobFileStore) -> None:
        creators = 8
        barrier = threading.Barrier(creators)

        def create(number: int) -> bool:
            barrier.wait()
            return store.create("1/worker-0/agent.json", str(number).encode())

        with ThreadPoolExecutor(creators) as pool:
            reported = list(pool.map(create, range(creators)))

        assert reported.count(True) == 1
        assert store.get("1/worker-0/agent.json") == str(reported.index(True)).encode()

    def test_a_reader_never_sees_half_a_value(self, store: JobFileStore) -> None:
        values = {letter * 200_000 for letter in (b"a", b"b")}
        done = threading.Event()

        def write() -> None:
            for _ in range(30):
                for value in values:
                    store.put("heartbeat.json", value)
            done.set()

        store.put("heartbeat.json", next(iter(values)))
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write)
            seen = set()
            while not done.is_set() and not writing.done():
                seen.add(store.get("heartbeat.json"))
            writing.result()

        assert seen <= values

    def test_part_is_read_from_where_it_is_asked(self, store: JobFileStore) -> None:
        store.put("log/0", b"0123456789")

        assert store.read("log/0", 3, 4) == b"3456"
        assert store.read("log/0", 8, 100) == b"89"
        assert store.read("log/0", 10, 4) == b""
        assert store.read("log/0", 99, 4) == b""

    def test_names_below_folder_are_sorted_with_sizes(self, store: JobFileStore) -> None:
        for name in ("1/b", "1/a/z", "1/a.json", "10/a", "fence.json"):
            store.put(name, b"x" * len(name))

        assert list(store.names("1/")) == [("1/a.json", 8), ("1/a/z", 5), ("1/b", 3)]
        assert [name for name, _ in store.names("")] == [
            "1/a.json",
            "1/a/z",
            "1/b",
            "10/a",
            "fence.json",
        ]

    def test_removing_twice_is_no_error(self, store: JobFileStore) -> None:
        store.put("1/secrets.json", b"x")

        store.remove("1/secrets.json")
        store.remove("1/secrets.json")
        store.remove("2/never/there")

        assert store.get("1/secrets.json") is None

    def test_value_can_be_appended_if_supported(self, store: JobFileStore) -> None:
        if not store.can_append:
            with pytest.raises(ValueError, match="grow"):
                store.append("1/log/0", b"x")
            return
        store.append("1/log/0", b"one ")
        store.append("1/log/0", b"two")

        assert store.get("1/log/0") == b"one two"

    def test_a_log_is_read_back_byte_for_byte(self, store: JobFileStore) -> None:
        writer = LogWriter(store, "1/worker-0/", limit=1 << 20, segment=64)
        text = "".join(f"step {n} 损失\r\n" for n in range(100)).encode()

        for start in range(0, len(text), 50):
            writer.write(text[start : start + 50])
            if start % 200 == 0:
                writer.flush()
        writer.flush()

        reader = LogReader(store, "1/worker-0/")
        got, offset = b"", 0
        while chunk := reader.read(offset, 77).data:
            got += chunk
            offset += len(chunk)
        assert got == text
        assert reader.end() == writer.end == len(text)
