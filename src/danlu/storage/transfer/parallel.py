"""Parallel transfers by threads, and the interfaces of storages for batch reads and writes."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

from danlu.storage.api import Entry, Storage

T = TypeVar("T")

_MAX_THREADS = 4


@runtime_checkable
class BatchReadable(Protocol):
    """A remote storage where one thread can send many concurrent read requests.

    ``max_requests``: the useful number of concurrent requests in total.
    """

    max_requests: int

    def read_many(
        self, wanted: Iterable[tuple[T, Entry]], max_requests: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """Read objects with ``max_requests`` concurrent requests, and yield each as it arrives.

        The bytes are of the version of the entry, and are valid until the next item. None instead
        of bytes: the caller must open the object with ``open``. Requests are not retried, and the
        cause of a failure is not reported.
        """


@runtime_checkable
class BatchWritable(Protocol):
    """A remote storage where one thread can send many concurrent write requests."""

    max_requests: int

    def write_many(
        self, given: Iterable[tuple[T, str, bytes]], max_requests: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """Store bytes by key with ``max_requests`` concurrent requests; yield each stored entry.

        Existing objects are replaced. None instead of an entry: the caller must store the object
        with ``write``, as in :class:`BatchReadable`.
        """


def threads() -> int:
    """Return the number of threads for batch transfers: half of the CPUs, from 1 to 4.

    The other CPUs remain available to other processes.
    """
    return max(1, min(_MAX_THREADS, len(os.sched_getaffinity(0)) // 2))


def at_once(storage: BatchReadable | BatchWritable) -> int:
    """Return the number of concurrent requests of each batch transfer thread."""
    return max(1, storage.max_requests // threads())


ONE_REQUEST = 8 << 20  # bytes; the storage itself transfers larger objects in parallel parts
_LARGE = 2  # concurrent transfers of large objects; each holds its parts in memory
_TIMEOUT = 5.0  # seconds to wait for each thread after a failure; a thread may be blocked


@runtime_checkable
class RemoteStorage(Protocol):
    """A remote storage: ``max_requests`` concurrent small transfers take the time of one."""

    max_requests: int


def max_transfers(storage: Storage) -> int:
    """Return the useful number of concurrent transfers of a storage: 1 for a disk."""
    return storage.max_requests if isinstance(storage, RemoteStorage) else 1


def is_small(size: int) -> bool:
    """Return True if an object is not empty and small enough for one request."""
    return 0 < size <= ONE_REQUEST


class TransferBatch(NamedTuple, Generic[T]):
    """A batch transfer of small items.

    ``run`` appends the items that it could not transfer to its second argument.
    """

    accepts: Callable[[T], bool]
    run: Callable[[Iterator[T], list[T]], None]


def transfer_all(
    items: Iterable[T],
    size: Callable[[T], int],
    one_by_one: Callable[[Iterator[T]], None],
    most: int,
    batches: Sequence[TransferBatch[T]] = (),
) -> None:
    """Transfer small items in batches, then the small ones that are left, then the large ones.

    At most ``most`` items are transferred at the same time; of large ones, at most two.
    """
    rest = list(items)
    for batch in batches:
        rest = _run_batch(batch, rest, size)
    large, small = _split(rest, lambda item: size(item) > ONE_REQUEST)
    run_parallel(small, one_by_one, most)
    run_parallel(large, one_by_one, min(most, _LARGE))


def _run_batch(batch: TransferBatch[T], items: list[T], size: Callable[[T], int]) -> list[T]:
    """Transfer the small items that a batch accepts, and return what is left."""
    left: list[T] = []
    chosen, others = _split(items, lambda item: is_small(size(item)) and batch.accepts(item))
    run_parallel(chosen, lambda some: batch.run(some, left), threads())
    return left + others


def _split(items: Iterable[T], test: Callable[[T], bool]) -> tuple[list[T], list[T]]:
    passed: list[T] = []
    others: list[T] = []
    for item in items:
        (passed if test(item) else others).append(item)
    return passed, others


def run_parallel(items: Sequence[T], work: Callable[[Iterator[T]], None], count: int) -> None:
    """Call ``work`` in ``count`` threads, each with an iterator over the remaining items.

    The first exception stops all threads and is raised here. With one thread or one item, the
    work is done in the calling thread.
    """
    if not items:
        return
    if min(count, len(items)) <= 1:
        work(iter(items))
        return
    WorkQueue(items).run(work, min(count, len(items)))


class WorkQueue(Generic[T]):
    """A queue of items for several threads. It ends when one of them fails."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()
        self._failure: BaseException | None = None

    def run(self, work: Callable[[Iterator[T]], None], count: int) -> None:
        # Daemon threads: Python would join the threads of a pool at exit, and one may be blocked.
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
                thread.join(_TIMEOUT)
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
