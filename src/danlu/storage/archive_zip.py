"""Reading .zip: what is announced is checked before anything is opened."""

import os
import stat
import struct
import zipfile
from collections.abc import Iterator
from typing import IO, BinaryIO, cast

from danlu.errors import Refused
from danlu.storage.archive_reader import Counted, Member, decoded, refusal, truncated

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_COMMENT = 1 << 16
_ENTRY_USUAL, _DIRECTORY = 512, 1 << 20  # bytes of the directory: for each entry, and at least
_UTF8, _ENCRYPTED = 0x800, 0x1


class ZipReader:
    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = Counted(stream)
        # zipfile makes an object of every entry before we could count them.
        if _count(stream, limit) > limit:
            raise Refused(f"The archive holds more than {limit:,} files and folders.")
        self._zip = zipfile.ZipFile(cast("BinaryIO", self._stream))
        self._file: IO[bytes] | None = None
        self._produced = 0

    def announced(self) -> list[tuple[str, int]]:
        return [(_name(info), info.file_size) for info in self._zip.infolist()]

    def consumed(self) -> int:
        return self._stream.count

    def produced(self) -> int:
        return self._produced

    def members(self) -> Iterator[Member]:
        for info in self._zip.infolist():
            member = _member(info)
            if not member.folder:
                with self._zip.open(info) as self._file:
                    yield member
            else:
                yield member

    def read(self, size: int) -> bytes:
        piece = self._file.read(size) if self._file else b""
        self._produced += len(piece)
        return piece


def _member(info: zipfile.ZipInfo) -> Member:
    name = _name(info)
    mode = info.external_attr >> 16
    if info.flag_bits & _ENCRYPTED:
        raise refusal(name, "is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refusal(name, f"is packed by method {info.compress_type}; only deflate is read")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "a device or a pipe"
        raise refusal(name, f"is {kind}; only files and folders are unpacked")
    folder = name.endswith("/") or stat.S_ISDIR(mode)
    if folder and info.file_size:
        raise refusal(name, "has the name of a folder but holds bytes")
    return Member(name, folder, info.file_size, bool(mode & 0o111))


def _name(info: zipfile.ZipInfo) -> str:
    """Return the name as it was meant: archives of Chinese Windows hold GBK and say nothing."""
    # Not info.filename: it is cut at the first NUL.
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        name = decoded(name.encode("cp437"))
    # Some packers of Windows write its separator.
    return name.replace("\\", "/") if info.create_system == 0 else name


def _count(stream: BinaryIO, limit: int) -> int:
    """Return how many entries the directory really has; not many more than ``limit`` are read."""
    end = stream.seek(0, os.SEEK_END)
    tail_at = max(0, end - _COMMENT - _END.size)
    stream.seek(tail_at)
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise truncated("its directory, at the end, is missing")
    announced, size = _END.unpack_from(tail, at)[4:6]
    start = tail_at + at
    if at >= _LOCATOR.size and tail[at - _LOCATOR.size :][:4] == b"PK\x06\x07":
        start -= _LOCATOR.size + _END_64.size
        stream.seek(max(0, start))
        large = stream.read(_END_64.size)
        if len(large) < _END_64.size or large[:4] != b"PK\x06\x06":
            raise truncated("its directory, at the end, is broken")
        announced, size = _END_64.unpack(large)[7:9]
    if size > _DIRECTORY + limit * _ENTRY_USUAL:
        # zipfile reads it into memory, comments and all.
        raise Refused(f"The archive is refused: its directory has {size:,} bytes.")
    count = _walk(stream, start - size, start, limit)
    if count <= limit and count != announced:
        raise truncated(f"its directory lists {count} members, and says {announced}")
    return count


def _walk(stream: BinaryIO, at: int, end: int, limit: int) -> int:
    count = 0
    if at < 0:
        raise truncated("its directory begins before the archive does")
    while at < end and count <= limit:
        stream.seek(at)
        header = stream.read(_ENTRY.size)
        if len(header) < _ENTRY.size or header[:4] != b"PK\x01\x02":
            raise truncated("its directory is broken")
        fields = _ENTRY.unpack(header)
        at += _ENTRY.size + fields[12] + fields[13] + fields[14]
        count += 1
    if at > end:
        raise truncated("its directory is broken")
    stream.seek(0)
    return count
