"""How many records a TFRecord file has, told by their lengths alone.

A record is its length (8 bytes), a checksum of that (4), the data and a checksum of it (4). Only
lengths are looked at: of large records little is read.
"""

import os
from typing import Any, Protocol

from moxing.framework import file
from moxing.tensorflow.datasets import places

_HEAD, _TAIL = 12, 4
# Of an object store it is quicker to read on than to ask again for what is this near.
_LOCAL, _REMOTE = 1 << 16, 1 << 22


class _Source(Protocol):
    def seek(self, offset: int, whence: int = 0, /) -> Any: ...
    def read(self, size: int = -1, /) -> bytes: ...


def count(path: str) -> int:
    """Return the number of records in a file of this machine or of a store.

    Raises:
        ValueError: it is not a TFRecord file, or its end is missing.
    """
    size = file.stat(path).length
    if places.is_remote(path):
        with file.File(path, "rb") as source:
            return _count(source, size, _REMOTE, path)
    with open(path.removeprefix("file://"), "rb", buffering=0) as source:
        return _count(source, size, _LOCAL, path)


def _count(source: _Source, size: int, window: int, path: str) -> int:
    records = position = begin = 0
    held = b""
    while position < size:
        at = position - begin
        if at + _HEAD > len(held):
            source.seek(position)
            begin, held, at = position, _filled(source, min(window, size - position)), 0
        length = int.from_bytes(held[at : at + 8], "little")
        position += _HEAD + length + _TAIL
        if len(held) - at < _HEAD or position > size:
            raise ValueError(_fault(path, records, size))
        records += 1
    return records


def _filled(source: _Source, size: int) -> bytes:
    """Return so many bytes, however few are given at a time."""
    parts: list[bytes] = []
    while size > 0 and (part := source.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _fault(path: str, records: int, size: int) -> str:
    if records == 0:
        return (
            f"{path} is not a TFRecord file (or it is a compressed one: unpack it first); "
            "write a file_pattern that leaves it out."
        )
    return f"{path} is cut off: what follows its record {records} is none; it has {size} bytes."


def modified(path: str) -> tuple[int, int]:
    """Return size and time of a file: while these are the same, so is the number of records."""
    if places.is_remote(path):
        found = file.stat(path)
        return found.length, found.mtime_nsec
    plain = os.stat(path.removeprefix("file://"))
    return plain.st_size, plain.st_mtime_ns
