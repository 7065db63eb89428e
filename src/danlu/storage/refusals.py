"""What a disk refused, as a sentence."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from danlu.errors import StorageError
from danlu.storage.inside import DISK_FULL, NOT_THERE


@dataclass(frozen=True)
class Refusals:
    """Of the files below ``root``."""

    root: str

    @contextlib.contextmanager
    def reading(self, key: str) -> Iterator[None]:
        """Pass over what is not there; say in a sentence what else the disk refused."""
        try:
            yield
        except OSError as error:
            if error.errno not in NOT_THERE:
                raise self._refusal(key, error) from error

    @contextlib.contextmanager
    def telling(self, key: str) -> Iterator[None]:
        """Say in a sentence what the disk refused; that it is full, a caller must know as such."""
        try:
            yield
        except OSError as error:
            if error.errno in DISK_FULL:
                raise
            raise self._refusal(key, error) from error

    def _refusal(self, key: str, error: OSError) -> StorageError:
        reason = error.strerror or "Is a directory"
        return StorageError(f"{key!r} in {self.root!r}: {reason}.")
