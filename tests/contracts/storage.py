"""The contract tests for storages. Subclass one and define a ``storage`` fixture, which is empty.

A storage of folders may also list empty folders, as keys that end in ``/``.
"""

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

import pytest

from danlu.errors import NotFound
from danlu.storage.api import Changed, Entry, Guard, Storage
from danlu.storage.names import is_hidden


class Broken(io.BytesIO):
    """A stream that calls ``then`` at its end, or fails there without one."""

    def __init__(self, data: bytes, then: Callable[[], None] | None = None) -> None:
        super().__init__(data)
        self._then = then

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        if not data and self._then is None:
            raise RuntimeError("the source is gone")
        if not data and self._then is not None:
            self._then()
        return data


class MemoryStorage:
    """A storage in memory that accepts any key, for tests of code that uses a storage."""

    def __init__(
        self, objects: Iterable[tuple[str, bytes]] = (), *, guard: Guard | None = None
    ) -> None:
        self.guard = guard
        self._lock = threading.Lock()
        self._count = 0
        self._objects: dict[str, tuple[bytes, Entry]] = {}
        for key, data in objects:
            self.write(key, data)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        with self._lock:
            found = sorted(self._objects.items())
        shown = (entry for key, (_, entry) in found if key.startswith(prefix))
        yield from (entry for entry in shown if not is_hidden(entry.key, prefix))

    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]:
        return [(entry.key, entry.size) for entry in self.list(prefix)]

    def stat(self, key: str) -> Entry | None:
        found = self._objects.get(key)
        return None if found is None else found[1]

    def open(self, key: str) -> BinaryIO:
        data = self.read(key)
        if data is None:
            raise NotFound("object", key)
        return io.BytesIO(data)

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None:
        found = self._objects.get(key)
        if found is None:
            return None
        return found[0][start:] if size is None else found[0][start : start + size]

    def write(self, key: str, data: bytes | BinaryIO) -> Entry:
        content = data if isinstance(data, bytes) else _all(data)
        if self.guard is not None:
            self.guard.before(key)
        with self._lock:
            self._count += 1
            entry = Entry(key, len(content), f"v{self._count}")
            self._objects[key] = (content, entry)
        return entry

    def create(self, key: str, data: bytes) -> bool:
        with self._lock:
            if key in self._objects:
                return False
            self._count += 1
            self._objects[key] = (data, Entry(key, len(data), f"v{self._count}"))
        return True

    def copy(self, key: str, to: str, etag: str = "") -> Entry:
        found = self.stat(key)
        if etag and found is not None and found.etag != etag:
            raise Changed(f"The object {key!r} was replaced before it was copied.")
        with self.open(key) as file:
            return self.write(to, file)

    def delete(self, key: str) -> None:
        if self.guard is not None:
            self.guard.before(key)
        with self._lock:
            self._objects.pop(key, None)


def _all(stream: BinaryIO) -> bytes:
    pieces = []
    while piece := stream.read(1 << 20):
        pieces.append(piece)
    return b"".join(pieces)


UNUSUAL_KEYS = (
    "a//b",
    "/a",
    "//",
    "a/",
    "a/./b",
    "../a",
    "a/../../b",
    "..",
    ".",
    "%2e%2e/a",
    "..%2fa",
    "%252e",
    "a%b",
    "%-",
    "a%o",
    "\\..\\a",
    "nul\0byte",
    "line\nbreak",
    "blank and 'quotes\"",
    "数据/训练集.csv",
    "long/" + "x" * 600,
    "长" * 340,
    "." * 402,
    ".danlu-tmp-0123456789ab",
    "c:/windows",
    "~/a",
    "-rf",
)


def objects(storage: Storage, prefix: str = "") -> list[str]:
    return [entry.key for entry in storage.list(prefix) if not entry.key.endswith("/")]


class StorageContract:
    """Tests of the guarantees of ``danlu.storage.api.Storage``."""

    def test_reads_back_what_was_written(self, storage: Storage) -> None:
        entry = storage.write("a/b", b"bytes")

        assert storage.read("a/b") == b"bytes"
        assert storage.stat("a/b") == entry
        assert (entry.key, entry.size) == ("a/b", 5)

    def test_writes_what_a_stream_gives(self, storage: Storage) -> None:
        data = bytes(range(256)) * 20_000

        storage.write("big", io.BytesIO(data))

        assert storage.read("big") == data

    def test_keeps_an_empty_object(self, storage: Storage) -> None:
        assert storage.write("empty", b"").size == 0
        assert storage.read("empty") == b""
        assert objects(storage) == ["empty"]

    def test_replaces_what_was_there(self, storage: Storage) -> None:
        before = storage.write("a", b"one")
        after = storage.write("a", b"three")

        assert storage.read("a") == b"three"
        assert before.etag != after.etag

    def test_reads_a_part(self, storage: Storage) -> None:
        storage.write("a", b"0123456789")

        assert storage.read("a", 3) == b"3456789"
        assert storage.read("a", 3, 4) == b"3456"
        assert storage.read("a", 8, 100) == b"89"
        assert storage.read("a", 100, 1) == b""

    def test_a_listing_passes_over_the_platforms_own_folder(self, storage: Storage) -> None:
        for key in ("a", "out/b", "out/.danlu/start/j", "out/.danlux/c", ".danlu/d"):
            storage.write(key, b"x")

        assert objects(storage) == ["a", "out/.danlux/c", "out/b"]
        assert objects(storage, "out/") == ["out/.danlux/c", "out/b"]
        assert objects(storage, "out/.danlu/") == ["out/.danlu/start/j"]
        assert objects(storage, "out/.danlu/st") == ["out/.danlu/start/j"]
        assert storage.read("out/.danlu/start/j") == b"x"

    def test_copies_one_version_or_none(self, storage: Storage) -> None:
        old = storage.write("a", b"old")
        new = storage.write("a", b"newer")

        with pytest.raises(Changed):
            storage.copy("a", "b", old.etag)
        assert storage.stat("b") is None
        storage.copy("a", "b", new.etag)
        assert storage.read("b") == b"newer"

    def test_opens_a_stream_that_can_be_moved(self, storage: Storage) -> None:
        storage.write("a", b"0123456789")

        with storage.open("a") as file:
            file.seek(-3, io.SEEK_END)
            assert file.read() == b"789"
            file.seek(0)
            assert file.read(2) == b"01"

    def test_open_stream_is_not_disturbed_by_new_object(self, storage: Storage) -> None:
        storage.write("a", b"old")

        with storage.open("a") as file:
            storage.write("a", b"newer")
            assert file.read() == b"old"

    def test_what_is_not_there_is_reported(self, storage: Storage) -> None:
        assert storage.stat("a/b") is None
        assert storage.read("a/b") is None
        with pytest.raises(NotFound, match="no object named 'a/b'"):
            storage.open("a/b")
        assert objects(storage) == []

    def test_a_folder_is_no_object(self, storage: Storage) -> None:
        storage.write("a/b", b"")

        assert storage.stat("a") is None
        assert storage.read("a") is None

    def test_what_is_below_an_object_is_not_there(self, storage: Storage) -> None:
        storage.write("a", b"")

        assert storage.stat("a/b") is None
        assert storage.read("a/b/c") is None
        storage.delete("a/b")
        assert storage.read("a") == b""

    def test_lists_by_prefix_in_order_of_key(self, storage: Storage) -> None:
        for key in ("m/10", "n/1", "m/2", "m-1", "m/a/b", "m.x", "m0", "m/a-b"):
            storage.write(key, b"")

        listed = objects(storage)
        assert listed == sorted(listed)
        assert len(listed) == 8
        assert objects(storage, "m/") == ["m/10", "m/2", "m/a-b", "m/a/b"]
        assert objects(storage, "m/a") == ["m/a-b", "m/a/b"]
        assert objects(storage, "m/1") == ["m/10"]
        assert objects(storage, "n/1") == ["n/1"]
        assert objects(storage, "x") == []
        assert objects(storage, "m/x/") == []

    def test_sizes_are_those_of_the_listing(self, storage: Storage) -> None:
        storage.write("a/1", b"x")
        storage.write("a/2", b"xyz")

        assert sorted(storage.sizes("a/")) == [("a/1", 1), ("a/2", 3)]

    def test_listing_and_stat_agree(self, storage: Storage) -> None:
        for key in ("a", "b/c", "b/d/e"):
            storage.write(key, key.encode())

        assert all(storage.stat(entry.key) == entry for entry in storage.list())

    def test_creates_only_what_is_not_there(self, storage: Storage) -> None:
        assert storage.create("a/b", b"first")
        assert not storage.create("a/b", b"second")
        assert storage.read("a/b") == b"first"

    def test_one_of_many_creators_wins(self, storage: Storage) -> None:
        gate = threading.Barrier(8)
        won: list[int] = []

        def attempt(number: int) -> None:
            gate.wait()
            if storage.create("claim", str(number).encode()):
                won.append(number)

        threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len(won) == 1
        assert storage.read("claim") == str(won[0]).encode()

    def test_copies_an_object_where_it_lies(self, storage: Storage) -> None:
        storage.write("a/b", b"bytes")
        storage.write("c", b"what was there before")

        assert storage.copy("a/b", "c") == storage.stat("c")
        assert storage.copy("a/b", "d/e/f").size == 5
        assert [storage.read(key) for key in ("a/b", "c", "d/e/f")] == [b"bytes"] * 3

    def test_copying_an_object_onto_itself_keeps_it(self, storage: Storage) -> None:
        storage.write("a", b"bytes")

        storage.copy("a", "a")

        assert storage.read("a") == b"bytes"

    def test_what_is_not_there_cannot_be_copied(self, storage: Storage) -> None:
        storage.write("b", b"old")

        with pytest.raises(NotFound, match="no object named 'a'"):
            storage.copy("a", "b")

        assert storage.read("b") == b"old"

    def test_copies_the_mark_of_an_empty_folder(self, storage: Storage) -> None:
        storage.write("a/", b"")

        storage.copy("a/", "b/")

        assert [entry.key for entry in storage.list()] == ["a/", "b/"]

    def test_deleting_twice_is_no_error(self, storage: Storage) -> None:
        storage.write("a/b", b"")

        storage.delete("a/b")
        storage.delete("a/b")

        assert objects(storage) == []
        assert storage.create("a/b", b"again")

    def test_a_write_that_fails_leaves_what_was_there(self, storage: Storage) -> None:
        storage.write("a", b"old")

        with pytest.raises(RuntimeError):
            storage.write("a", Broken(b"half of it"))

        assert storage.read("a") == b"old"
        assert objects(storage) == ["a"]

    def test_an_unfinished_write_is_not_seen(self, storage: Storage) -> None:
        seen: list[str] = []

        def look() -> None:
            seen.extend(objects(storage))

        storage.write("a/b", Broken(b"half", then=look))

        assert seen == []
        assert storage.read("a/b") == b"half"

    def test_readers_see_whole_objects_only(self, storage: Storage) -> None:
        versions = [bytes([number]) * 50_000 for number in range(20)]
        storage.write("a", versions[0])
        done = threading.Event()

        def replace() -> None:
            for version in versions:
                storage.write("a", version)
            done.set()

        writer = threading.Thread(target=replace)
        writer.start()
        seen = {storage.read("a")}
        while not done.is_set():
            seen.add(storage.read("a"))
        writer.join()

        assert seen <= set(versions)


class BucketContract(StorageContract):
    """Tests for storages that accept every key, as buckets do."""

    @pytest.mark.parametrize("key", UNUSUAL_KEYS)
    def test_odd_key_is_found_again_as_it_was(self, storage: Storage, key: str) -> None:
        storage.write(key, b"odd")

        assert storage.read(key) == b"odd"
        assert [entry.key for entry in storage.list()] == [key]
        assert [entry.key for entry in storage.list(key)] == [key]
        assert [entry.key for entry in storage.list(key[:-1])] == [key]
        assert not storage.create(key, b"")
        assert storage.copy(key, key + "2").size == 3
        assert storage.copy(key + "2", key).key == key
        storage.delete(key)
        assert [entry.key for entry in storage.list()] == [key + "2"]

    def test_all_odd_keys_together_are_in_order(self, storage: Storage) -> None:
        for key in UNUSUAL_KEYS:
            storage.write(key, key.encode())

        assert [entry.key for entry in storage.list()] == sorted(UNUSUAL_KEYS)
        assert all(storage.read(key) == key.encode() for key in UNUSUAL_KEYS)

    def test_object_may_have_name_of_folder(self, storage: Storage) -> None:
        storage.write("a", b"object")
        storage.write("a/b", b"below")
        storage.write("a/b/c", b"deeper")
        storage.write("a/b", b"below, again")

        assert [e.key for e in storage.list()] == ["a", "a/b", "a/b/c"]
        assert storage.read("a") == b"object"
        assert storage.read("a/b") == b"below, again"
        assert not storage.create("a", b"")
        storage.delete("a")
        assert [e.key for e in storage.list()] == ["a/b", "a/b/c"]
        storage.delete("a/b/c")
        assert storage.create("a", b"back")
        assert [e.key for e in storage.list()] == ["a", "a/b"]

    def test_an_object_stays_when_its_folder_is_emptied(self, storage: Storage) -> None:
        storage.write("a/b", b"")
        storage.write("a", b"object")
        storage.delete("a/b")

        assert storage.read("a") == b"object"
        assert not storage.create("a", b"")
        storage.write("a", b"new")
        storage.write("a/b", b"")
        assert storage.read("a") == b"new"
        storage.delete("a")
        assert [e.key for e in storage.list()] == ["a/b"]
