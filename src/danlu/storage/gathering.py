"""Many small objects at once, from or to a storage that has a way of its own for that."""

import os
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar, runtime_checkable

from danlu.storage.api import Entry

T = TypeVar("T")

_MOST = 4


@runtime_checkable
class Gathering(Protocol):
    """A storage across a network where one thread can have many requests under way.

    ``hands``: how many it gains by in all.
    """

    hands: int

    def gather(
        self, wanted: Iterable[tuple[T, Entry]], hands: int
    ) -> Iterator[tuple[T, Entry, memoryview | None]]:
        """Yield the objects as they come, ``hands`` at a time; bytes are good until the next.

        They are of just this version. None: this one has to be opened as any other; nothing was
        tried twice, and nothing is said of why.
        """


@runtime_checkable
class Scattering(Protocol):
    """A storage that takes many small objects at once as well, from one thread."""

    hands: int

    def scatter(
        self, given: Iterable[tuple[T, str, bytes]], hands: int
    ) -> Iterator[tuple[T, Entry | None]]:
        """Store bytes by key, ``hands`` at a time, replacing what was there; yield each as it is.

        None: this one has to be written as any other, as with :class:`Gathering`.
        """


def threads() -> int:
    """Return how many threads that do so keep a machine busy, and leave room for others."""
    return max(1, min(_MOST, len(os.sched_getaffinity(0)) // 2))


def at_once(storage: Gathering | Scattering) -> int:
    """Return how many requests each of these threads has under way."""
    return max(1, storage.hands // threads())
