"""Event files as TensorBoard reads them, written without TensorFlow: scalars only.

A record is a length, the length's check sum, a protobuf message and its check sum; the message is
an ``Event`` (tensorboard/compat/proto/event.proto) of a time, a step and one value by its tag.
"""

import struct
import time
from functools import cache
from pathlib import Path

_CASTAGNOLI = 0x82F63B78


class EventFile:
    """One file in a folder of its own, which is what TensorBoard calls a run."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"events.out.tfevents.{int(time.time())}.danlu"
        self._append(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))

    def add(self, tag: str, step: int, at: float, value: float) -> None:
        scalar = _bytes(1, tag.encode()) + _key(2, 5) + struct.pack("<f", value)
        self._append(_double(1, at) + _integer(2, step) + _bytes(5, _bytes(1, scalar)))

    def _append(self, message: bytes) -> None:
        length = struct.pack("<Q", len(message))
        record = length + _masked(length) + message + _masked(message)
        with open(self._path, "ab") as file:
            file.write(record)


def _key(field: int, wire: int) -> bytes:
    return bytes([field << 3 | wire])


def _double(field: int, value: float) -> bytes:
    return _key(field, 1) + struct.pack("<d", value)


def _integer(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # a negative one, as protobuf has it
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _masked(data: bytes) -> bytes:
    """Return the CRC-32C of ``data``, turned as the format wants it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table()[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


@cache
def _table() -> tuple[int, ...]:
    found = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ _CASTAGNOLI if number & 1 else number >> 1
        found.append(number)
    return tuple(found)
