"""Readers of the two archive formats, tar.gz and zip, and their common interface."""

import gzip
import os
import stat
import struct
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO, BinaryIO, Protocol, cast

from danlu.errors import Refused
from danlu.messages import get_message


@dataclass(frozen=True)
class Member:
    """A file or folder of an archive, with the name and size that the archive declares."""

    name: str
    folder: bool
    size: int
    executable: bool


class Reader(Protocol):
    """A reader of one archive format."""

    def announced(self) -> list[tuple[str, int]]:
        """Return names and sizes of all members, or [] if they are not known before reading."""

    def members(self) -> Iterator[Member]:
        """Yield the members in archive order.

        The caller may read a member until it requests the next one. Raises Refused for anything
        but files and folders. Ends without an error only if the archive is complete.
        """

    def read(self, size: int) -> bytes:
        """Return bytes of the member that was yielded last, or b"" at its end."""

    def consumed(self) -> int:
        """Return the number of archive bytes read so far."""

    def produced(self) -> int:
        """Return the number of decompressed bytes so far, including headers."""


class Counted:
    """A stream that counts the bytes read from it."""

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
    """Return a name as text.

    Try UTF-8, then GBK as used on Chinese Windows. Otherwise keep the bytes as surrogate escapes.
    """
    for encoding in ("utf-8", "gbk"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "surrogateescape")


def refusal(name: str, reason: str) -> Refused:
    return Refused.from_key("archive.member_refused", name=name, reason=reason)


def truncated(reason: str) -> Refused:
    return Refused.from_key("archive.broken", reason=reason)


_BLOCK = 512
_EXTENSION = 1 << 20  # max bytes of an extended header
_EXTENSIONS = 16  # max extended headers before one member
_RECORDS = 100  # max records in an extended header; a file with many attributes has some dozens
_TRAILER = 1 << 20  # max bytes after the end of the archive; tar pads its last record
_DIGITS = 18  # max digits of a number
_SPARSE = "GNU.sparse"
_READ = (b"path=", b"size=", _SPARSE.encode())  # prefixes of the records that are used
_KINDS: Mapping[bytes, str] = {  # keys of messages
    tarfile.LNKTYPE: "archive.hard_link",
    tarfile.SYMTYPE: "archive.symbolic_link",
    tarfile.CHRTYPE: "archive.device",
    tarfile.BLKTYPE: "archive.device",
    tarfile.FIFOTYPE: "archive.pipe",
    tarfile.GNUTYPE_SPARSE: "archive.sparse_file",
}


class TarReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = Counted(stream)
        self._gzip = gzip.GzipFile(fileobj=cast("BinaryIO", self._stream), mode="rb")
        self._produced = 0
        self._left = 0  # bytes left of the current member
        self._padding = 0

    def announced(self) -> list[tuple[str, int]]:
        return []  # tar has no directory

    def consumed(self) -> int:
        return self._stream.count

    def produced(self) -> int:
        return self._produced

    def members(self) -> Iterator[Member]:
        pax: dict[str, str] = {}
        extensions = 0
        while (info := self._header()) is not None:
            if info.type in (
                tarfile.XHDTYPE,
                tarfile.SOLARIS_XHDTYPE,
                tarfile.GNUTYPE_LONGNAME,
                tarfile.GNUTYPE_LONGLINK,
                tarfile.XGLTYPE,
            ):
                extensions += 1
                pax |= self._extension(info, extensions)
                continue
            yield self._member(info, pax)
            self._skip()
            pax, extensions = {}, 0
        if extensions:
            raise truncated(get_message("archive.ends_after_header"))
        self._end()

    def read(self, size: int) -> bytes:
        piece = self._inflate(min(size, self._left))
        if not piece and self._left:
            raise truncated(get_message("archive.ends_in_file"))
        self._left -= len(piece)
        return piece

    def _header(self) -> tarfile.TarInfo | None:
        block = self._exactly(_BLOCK)
        if block.count(0) == _BLOCK:
            return None
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if info.size < 0:
            raise refusal(info.name, get_message("archive.negative_size"))
        self._begin(info.size)
        return info

    def _begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _member(self, info: tarfile.TarInfo, pax: Mapping[str, str]) -> Member:
        name = pax.get("path") or decoded(info.name.encode("utf-8", "surrogateescape"))
        if info.type in _KINDS or _SPARSE in pax:
            kind = _KINDS.get(info.type, "archive.sparse_file")
            raise refusal(name, get_message("archive.wrong_kind", kind=get_message(kind)))
        folder = info.type == tarfile.DIRTYPE
        # Before POSIX, a folder was a file with a name that ends in a slash.
        folder = folder or (info.type == tarfile.AREGTYPE and name.endswith("/"))
        if not folder and info.type not in tarfile.REGULAR_TYPES:
            raise refusal(name, get_message("archive.unknown_kind", type=info.type))
        if folder:
            self._begin(0)  # POSIX: the size field is a quota, and no bytes follow
        elif "size" in pax:
            self._begin(_number(name, pax["size"]))
        return Member(name, folder, self._left, bool(info.mode & 0o111))

    def _extension(self, info: tarfile.TarInfo, count: int) -> Mapping[str, str]:
        if info.size > _EXTENSION or count > _EXTENSIONS:
            raise refusal(info.name, get_message("archive.long_header"))
        data = self._exactly(info.size)
        self._left = 0
        self._skip()
        if info.type == tarfile.GNUTYPE_LONGNAME:
            return {"path": decoded(data.rstrip(b"\0"))}
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            return _records(data, info.name)
        return {}  # the target of a link, or a global header

    def _skip(self) -> None:
        while self.read(1 << 16):
            pass
        self._exactly(self._padding)
        self._padding = 0

    def _exactly(self, size: int) -> bytes:
        data = self._inflate(size)
        if len(data) < size:
            raise truncated(get_message("archive.no_end_mark"))
        return data

    def _inflate(self, size: int) -> bytes:
        data = self._gzip.read(size)
        self._produced += len(data)
        return data

    def _end(self) -> None:
        """Read to the end of the compressed stream, which verifies its checksum."""
        left = _TRAILER
        while piece := self._inflate(1 << 16):
            left -= len(piece)
            if left < 0 or piece.count(0) != len(piece):
                raise truncated(get_message("archive.trailing_bytes"))


def _records(data: bytes, name: str) -> Mapping[str, str]:
    """Decode an extended header: '<length> <key>=<value>\\n', repeated.

    Only the records that are used are returned.
    """
    found = {}
    at, count, last = 0, 0, len(data.rstrip(b"\0"))
    while at < last:
        if (count := count + 1) > _RECORDS:
            raise refusal(name, get_message("archive.long_header"))
        blank = data.find(b" ", at, at + _DIGITS + 1)
        end = at + _number(name, data[at : max(blank, at)].decode("ascii", "replace"))
        if end <= blank + 1 or data[end - 1 : end] != b"\n":
            raise refusal(name, get_message("archive.broken_header"))
        if data.startswith(_READ, blank + 1):
            key, _, value = data[blank + 1 : end - 1].partition(b"=")
            found[_SPARSE if key.startswith(_READ[-1]) else decoded(key)] = decoded(value)
        at = end
    return found


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise refusal(name, get_message("archive.bad_size", text=text))
    return int(text)


_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_COMMENT = 1 << 16
_ENTRY_USUAL, _DIRECTORY = 512, 1 << 20  # max directory bytes: per entry, plus a constant
_UTF8, _ENCRYPTED = 0x800, 0x1


class ZipReader:
    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = Counted(stream)
        # zipfile creates an object for every entry. The entries are counted before that.
        if _count(stream, limit) > limit:
            raise Refused.from_key("archive.too_many_members", limit=limit)
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
        raise refusal(name, get_message("archive.encrypted"))
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refusal(name, get_message("archive.method", compress_type=info.compress_type))
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        kind = "archive.symbolic_link" if stat.S_ISLNK(mode) else "archive.device_or_pipe"
        raise refusal(name, get_message("archive.wrong_kind", kind=get_message(kind)))
    folder = name.endswith("/") or stat.S_ISDIR(mode)
    if folder and info.file_size:
        raise refusal(name, get_message("archive.folder_with_bytes"))
    return Member(name, folder, info.file_size, bool(mode & 0o111))


def _name(info: zipfile.ZipInfo) -> str:
    """Return the decoded name. Archives from Chinese Windows use GBK without declaring it."""
    # info.filename is cut at the first NUL.
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        name = decoded(name.encode("cp437"))
    # Some Windows archivers write backslashes.
    return name.replace("\\", "/") if info.create_system == 0 else name


def _count(stream: BinaryIO, limit: int) -> int:
    """Return the actual number of directory entries, reading at most one more than ``limit``."""
    end = stream.seek(0, os.SEEK_END)
    tail_at = max(0, end - _COMMENT - _END.size)
    stream.seek(tail_at)
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END.size:
        raise truncated(get_message("archive.no_directory"))
    announced, size = _END.unpack_from(tail, at)[4:6]
    start = tail_at + at
    if at >= _LOCATOR.size and tail[at - _LOCATOR.size :][:4] == b"PK\x06\x07":
        start -= _LOCATOR.size + _END_64.size
        stream.seek(max(0, start))
        large = stream.read(_END_64.size)
        if len(large) < _END_64.size or large[:4] != b"PK\x06\x06":
            raise truncated(get_message("archive.directory_broken"))
        announced, size = _END_64.unpack(large)[7:9]
    if size > _DIRECTORY + limit * _ENTRY_USUAL:
        # zipfile reads the whole directory into memory, including comments.
        raise Refused.from_key("archive.directory_too_large", size=size)
    count = _walk(stream, start - size, start, limit)
    if count <= limit and count != announced:
        raise truncated(get_message("archive.directory_count", count=count, announced=announced))
    return count


def _walk(stream: BinaryIO, at: int, end: int, limit: int) -> int:
    count = 0
    if at < 0:
        raise truncated(get_message("archive.directory_begins_before"))
    while at < end and count <= limit:
        stream.seek(at)
        header = stream.read(_ENTRY.size)
        if len(header) < _ENTRY.size or header[:4] != b"PK\x01\x02":
            raise truncated(get_message("archive.directory_broken"))
        fields = _ENTRY.unpack(header)
        at += _ENTRY.size + fields[12] + fields[13] + fields[14]
        count += 1
    if at > end:
        raise truncated(get_message("archive.directory_broken"))
    stream.seek(0)
    return count
