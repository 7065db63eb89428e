"""Reading .tar.gz as a stream: header by header, to the last check sum.

``tarfile`` itself takes a cut archive for a whole one when the cut falls between two members, and
reads extended headers of any size into memory; only its decoding of one header is used here.
"""

import gzip
import tarfile
from collections.abc import Iterator, Mapping
from typing import BinaryIO, cast

from danlu.storage.archive_reader import Counted, Member, decoded, refusal, truncated

_BLOCK = 512
_EXTENSION = 1 << 20  # bytes of an extended header
_EXTENSIONS = 16  # before one member
_RECORDS = 100  # in one of them; a file with many attributes has some dozens
_TRAILER = 1 << 20  # bytes after the end of the archive: tar fills up its last record
_DIGITS = 18  # of a number
_SPARSE = "GNU.sparse"
_READ = (b"path=", b"size=", _SPARSE.encode())  # how records begin that mean something to us
_KINDS: Mapping[bytes, str] = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class TarReader:
    def __init__(self, stream: BinaryIO) -> None:
        self._stream = Counted(stream)
        self._gzip = gzip.GzipFile(fileobj=cast("BinaryIO", self._stream), mode="rb")
        self._produced = 0
        self._left = 0  # of the member being read
        self._padding = 0

    def announced(self) -> list[tuple[str, int]]:
        return []  # a stream does not know what comes

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
            raise truncated("it ends after an extended header")
        self._end()

    def read(self, size: int) -> bytes:
        piece = self._inflate(min(size, self._left))
        if not piece and self._left:
            raise truncated("it ends within a file")
        self._left -= len(piece)
        return piece

    def _header(self) -> tarfile.TarInfo | None:
        block = self._exactly(_BLOCK)
        if block.count(0) == _BLOCK:
            return None
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        if info.size < 0:
            raise refusal(info.name, "has a negative size")
        self._begin(info.size)
        return info

    def _begin(self, size: int) -> None:
        self._left, self._padding = size, -size % _BLOCK

    def _member(self, info: tarfile.TarInfo, pax: Mapping[str, str]) -> Member:
        name = pax.get("path") or decoded(info.name.encode("utf-8", "surrogateescape"))
        if info.type in _KINDS or _SPARSE in pax:
            kind = _KINDS.get(info.type, "a sparse file")
            raise refusal(name, f"is {kind}; only files and folders are unpacked")
        folder = info.type == tarfile.DIRTYPE
        # Before POSIX a folder was a file whose name ends in a slash.
        folder = folder or (info.type == tarfile.AREGTYPE and name.endswith("/"))
        if not folder and info.type not in tarfile.REGULAR_TYPES:
            raise refusal(name, f"is of the unknown kind {info.type!r}")
        if folder:
            self._begin(0)  # POSIX: its size is what it may grow to, and no bytes follow
        elif "size" in pax:
            self._begin(_number(name, pax["size"]))
        return Member(name, folder, self._left, bool(info.mode & 0o111))

    def _extension(self, info: tarfile.TarInfo, count: int) -> Mapping[str, str]:
        if info.size > _EXTENSION or count > _EXTENSIONS:
            raise refusal(info.name, "has an extended header that is too long")
        data = self._exactly(info.size)
        self._left = 0
        self._skip()
        if info.type == tarfile.GNUTYPE_LONGNAME:
            return {"path": decoded(data.rstrip(b"\0"))}
        if info.type in (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE):
            return _records(data, info.name)
        return {}  # the target of a link, or a comment for the whole archive

    def _skip(self) -> None:
        while self.read(1 << 16):
            pass
        self._exactly(self._padding)
        self._padding = 0

    def _exactly(self, size: int) -> bytes:
        data = self._inflate(size)
        if len(data) < size:
            raise truncated("its end mark is missing")
        return data

    def _inflate(self, size: int) -> bytes:
        data = self._gzip.read(size)
        self._produced += len(data)
        return data

    def _end(self) -> None:
        """Read on to the check sum of the compressed stream."""
        left = _TRAILER
        while piece := self._inflate(1 << 16):
            left -= len(piece)
            if left < 0 or piece.count(0) != len(piece):
                raise truncated("there are bytes after its end")


def _records(data: bytes, name: str) -> Mapping[str, str]:
    """Decode an extended header: '<length> <key>=<value>\\n', repeated.

    Only what we go by is kept.
    """
    found = {}
    at, count, last = 0, 0, len(data.rstrip(b"\0"))
    while at < last:
        if (count := count + 1) > _RECORDS:
            raise refusal(name, "has an extended header that is too long")
        blank = data.find(b" ", at, at + _DIGITS + 1)
        end = at + _number(name, data[at : max(blank, at)].decode("ascii", "replace"))
        if end <= blank + 1 or data[end - 1 : end] != b"\n":
            raise refusal(name, "has a broken extended header")
        if data.startswith(_READ, blank + 1):
            key, _, value = data[blank + 1 : end - 1].partition(b"=")
            found[_SPARSE if key.startswith(_READ[-1]) else decoded(key)] = decoded(value)
        at = end
    return found


def _number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS:
        raise refusal(name, f"has the size {text!r}")
    return int(text)
