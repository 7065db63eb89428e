"""What the readers of the two archive formats share: the interface, and how names are read."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from danlu.errors import Refused


@dataclass(frozen=True)
class Member:
    """A file or folder as the archive names it, its size as announced."""

    name: str
    folder: bool
    size: int
    executable: bool


class Reader(Protocol):
    """One format of archives."""

    def announced(self) -> list[tuple[str, int]]:
        """Return names and sizes of all members, where they are known before reading."""

    def members(self) -> Iterator[Member]:
        """Yield members in their order; one is read, or not, before the next is asked for.

        Raises Refused for anything but files and folders. Ends only where the archive is whole.
        """

    def read(self, size: int) -> bytes:
        """Return bytes of the member yielded last; b"" at its end."""

    def consumed(self) -> int:
        """Return how many bytes of the archive were read up to now."""

    def produced(self) -> int:
        """Return how many bytes came out of it up to now, whatever they were for."""


class Counted:
    """A stream that counts what is read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.count += len(data)
        return data

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return self._stream.seek(offset, whence)
        except OSError as error:
            raise ValueError(f"it points to byte {offset}") from error

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True


def decoded(raw: bytes) -> str:
    """Return a name as text: UTF-8, else GBK as on Chinese Windows, else bytes kept as they are."""
    for encoding in ("utf-8", "gbk"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "surrogateescape")


def refusal(name: str, reason: str) -> Refused:
    return Refused(f"The archive is refused: its member {name!r} {reason}.")


def truncated(reason: str) -> Refused:
    return Refused(
        f"The archive is cut off or broken: {reason}.",
        hint="Pack and upload it again.",
    )
