"""What carries the files of a job between its processes."""

from collections.abc import Sequence
from typing import Protocol


class Carrier(Protocol):
    """Named bytes of one job: files on one machine, objects of a store on a cluster.

    Names are relative, with ``/``. A reader sees a whole value or none, never a half-written one.
    ``grows`` tells whether :meth:`append` is there; where it is not, a log is a sequence of
    whole segments.
    """

    @property
    def grows(self) -> bool: ...

    def put(self, name: str, data: bytes, *, private: bool = False) -> None:
        """Set a value, replacing what was there. ``private``: for its owner's eyes only."""

    def create(self, name: str, data: bytes) -> bool:
        """Set a value that is not there yet; False, and nothing changed, when it is.

        Of several callers at once exactly one is told True.
        """

    def append(self, name: str, data: bytes) -> None:
        """Add to the end of a value; only where :attr:`grows`, and by one writer."""

    def get(self, name: str) -> bytes | None:
        """Return a value, or None."""

    def read(self, name: str, start: int, size: int) -> bytes:
        """Return up to ``size`` bytes from ``start``; b"" where there are none."""

    def names(self, prefix: str) -> Sequence[tuple[str, int]]:
        """Return name and size of every value below ``prefix``, in order of name."""

    def remove(self, name: str) -> None:
        """Remove a value. Removing what is not there is no error."""
