"""The records of a file as TensorFlow writes them: length, checksum of it, bytes, checksum."""

import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

_HEAD, _SUM = struct.Struct("<QI"), struct.Struct("<I")
_CHECKED = 1 << 20  # bytes: tensorboard's checksum is in Python, seconds for a few MB
_READ = 64 << 20  # bytes: what is larger is a graph, and holds no numbers


class Records:
    """Each call of :meth:`read` goes on where the last one ended.

    A record that is cut off at the end is read when it is complete; one that is damaged ends the
    reading. A large one is passed over unread: a program may have its whole data set in its graph,
    and the graph in its event files.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0  # where the next record begins

    def read(self) -> Iterator[bytes]:
        with open(self._path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            while (length := _length(file, self._at)) is not None:
                end = self._at + _HEAD.size + length + _SUM.size
                if end > size:
                    return
                record = file.read(length) if length <= _READ else b""
                if length <= _CHECKED and _sum(record) != _SUM.unpack(file.read(_SUM.size))[0]:
                    return
                self._at = end
                if record:
                    yield record


def _length(file: BinaryIO, at: int) -> int | None:
    """Return the length of the record that begins there; None where none does."""
    file.seek(at)
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    length, checksum = _HEAD.unpack(head)
    return int(length) if _sum(head[:8]) == checksum else None


def _sum(data: bytes) -> int:
    from tensorboard.compat.tensorflow_stub import (  # type: ignore[import-untyped]
        pywrap_tensorflow,
    )

    return int(pywrap_tensorflow.masked_crc32c(data))
