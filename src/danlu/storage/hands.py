"""Several transfers at once, where the storage is across a network."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar, runtime_checkable

from danlu.storage.api import Storage

T = TypeVar("T")

ONE_REQUEST = 8 << 20  # larger objects are moved in parts, several at once, by the storage itself
_LARGE = 2  # of those at once: each holds its parts in memory
_PATIENCE = 5.0  # seconds for transfers that shall end; one may be waiting for a service


@runtime_checkable
class Distant(Protocol):
    """A storage that takes ``hands`` transfers of small objects in the time of one."""

    hands: int


def hands(storage: Storage) -> int:
    """Return how many transfers at once a storage gains by; a disk by none."""
    return storage.hands if isinstance(storage, Distant) else 1


def is_small(size: int) -> bool:
    """Tell whether an object has bytes, and few enough for one request."""
    return 0 < size <= ONE_REQUEST


def by_size(
    items: Iterable[T], size: Callable[[T], int], most: int
) -> Iterator[tuple[list[T], int]]:
    """Yield the small items and the large ones, each with the number of hands for them."""
    small: list[T] = []
    large: list[T] = []
    for item in items:
        (large if size(item) > ONE_REQUEST else small).append(item)
    if small:
        yield small, most
    if large:
        yield large, min(most, _LARGE)


def share(items: Sequence[T], work: Callable[[Iterator[T]], None], count: int) -> None:
    """Let ``count`` threads call ``work``, each with an iterator over the items that are left.

    The first exception of one ends all and is raised here. One hand is the caller's own.
    """
    if min(count, len(items)) <= 1:
        work(iter(items))
        return
    Shared(items).run(work, min(count, len(items)))


class Shared(Generic[T]):
    """Items that several threads take from, until one of them fails."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def run(self, work: Callable[[Iterator[T]], None], count: int) -> None:
        # Not a pool: Python would wait for its threads at exit, and one may have long to wait.
        threads = [
            threading.Thread(target=self._hand, args=(work,), name=f"transfer-{n}", daemon=True)
            for n in range(count)
        ]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive() and self._failure is None:
                    thread.join(0.2)
        except BaseException as error:
            self._fail(error)
        if self._failure is not None:
            for thread in threads:
                thread.join(_PATIENCE)
            raise self._failure

    def _hand(self, work: Callable[[Iterator[T]], None]) -> None:
        try:
            work(self._take())
        except BaseException as error:
            self._fail(error)

    def _take(self) -> Iterator[T]:
        while True:
            with self._lock:
                if self._failure is not None:
                    return
                try:
                    item = next(self._items)
                except StopIteration:
                    return
            yield item

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._failure = self._failure or error
