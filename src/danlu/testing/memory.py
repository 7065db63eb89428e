"""A storage in memory, and a stream that breaks: real enough to test what uses a storage."""

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO

from danlu.errors import NotFound
from danlu.storage.api import Entry


class Broken(io.BytesIO):
    """A stream that calls ``then`` before its end, or fails there."""

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
    """Objects in memory, under any key at all; for tests of what uses a storage."""

    def __init__(self, objects: Iterable[tuple[str, bytes]] = ()) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._objects: dict[str, tuple[bytes, Entry]] = {}
        for key, data in objects:
            self.write(key, data)

    def list(self, prefix: str = "") -> Iterator[Entry]:
        with self._lock:
            found = sorted(self._objects.items())
        yield from (entry for key, (_, entry) in found if key.startswith(prefix))

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

    def copy(self, key: str, to: str) -> Entry:
        with self.open(key) as file:
            return self.write(to, file)

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(key, None)


def _all(stream: BinaryIO) -> bytes:
    pieces = []
    while piece := stream.read(1 << 20):
        pieces.append(piece)
    return b"".join(pieces)
