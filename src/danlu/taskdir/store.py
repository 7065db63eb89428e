"""The files of a job in an object store: the same protocol, for tasks on other machines."""

from collections.abc import Iterable, Sequence
from typing import Protocol


class Objects(Protocol):
    """The four things a carrier needs of a store; ``danlu.storage`` gives them."""

    def read(self, key: str, start: int = 0, size: int | None = None) -> bytes | None: ...
    def write(self, key: str, data: bytes) -> object: ...
    def create(self, key: str, data: bytes) -> bool: ...
    def sizes(self, prefix: str) -> Iterable[tuple[str, int]]: ...
    def delete(self, key: str) -> None: ...


class StoreCarrier:
    """Values are objects below ``prefix``. Objects do not grow: logs are whole segments."""

    grows = False

    def __init__(self, objects: Objects, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix.rstrip("/") + "/"

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        if private:
            raise ValueError("secrets do not travel through a store")
        self._objects.write(self._prefix + name, data)

    def create(self, name: str, data: bytes) -> bool:
        return self._objects.create(self._prefix + name, data)

    def append(self, name: str, data: bytes) -> None:
        raise ValueError("objects do not grow")

    def get(self, name: str) -> bytes | None:
        return self._objects.read(self._prefix + name)

    def read(self, name: str, start: int, size: int) -> bytes:
        return self._objects.read(self._prefix + name, start, size) or b""

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        cut = len(self._prefix)
        return sorted((key[cut:], size) for key, size in self._objects.sizes(self._prefix + prefix))

    def remove(self, name: str) -> None:
        self._objects.delete(self._prefix + name)
