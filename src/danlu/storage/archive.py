"""Checking and unpacking of code archives (.tar.gz and .zip) from untrusted sources.

Only regular files and folders below the target are allowed. Every limit is enforced while bytes
stream, so an archive bomb is refused as soon as it exceeds one. The error gives the reason and the
name of the member that caused it.
"""

import builtins
import gzip
import os
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from danlu.errors import Refused
from danlu.messages import get_message
from danlu.messages.text import size as size_text
from danlu.storage.archive_formats import Member, Reader, TarReader, ZipReader, refusal, truncated
from danlu.storage.folders import NEW_FILE, SafeDirectory, naming, remove_tree, write_all
from danlu.storage.names import is_name

Keep = Callable[[str, int], bool]  # called with name and declared size

CHUNK = 1 << 18
RATIO = 250  # max bytes out per byte in, beyond SWELL; source code never compresses so well
SWELL = 64 << 20
_BIGGEST = 5
_MAX_DEPTH = 100
_BROKEN = (
    EOFError,
    NotImplementedError,
    ValueError,
    gzip.BadGzipFile,
    struct.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class ArchiveLimits:
    """Limits of an archive: unpacked bytes of all files, and the number of files and folders."""

    total: int
    files: int


@dataclass(frozen=True)
class Summary:
    """The content of an archive.

    ``biggest``: the five largest files. ``names``: the paths of all files. ``kept``: the bytes of
    the files that the caller selected.
    """

    files: int
    bytes: int
    biggest: tuple[tuple[str, int], ...]
    names: frozenset[str] = frozenset()
    kept: Mapping[str, "builtins.bytes"] = field(default_factory=dict)


def check(stream: BinaryIO, limits: ArchiveLimits, keep: Keep | None = None) -> Summary:
    """Read a whole archive without writing anything, and return its content.

    ``keep`` selects by name and size the files that are returned with their bytes.

    Raises:
        Refused: the archive is broken, too big, or has a member that :func:`unpack` refuses.
    """
    with _opened(stream, limits) as reader:
        return _Walk(reader, limits, None, keep).run()


def unpack(path: Path, to: Path, limits: ArchiveLimits) -> Summary:
    """Unpack an archive to the folder ``to``, which appears complete or not at all.

    Files have mode 0644, or 0755 if they are executable in the archive. No file is setuid.

    Raises:
        Refused: as :func:`check`, or ``to`` already exists and is not empty.
        OSError: the disk is full. ``filename`` is the path of the file.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    unfinished = to.with_name(f".{to.name.lstrip('.')}-{os.urandom(6).hex()}")
    unfinished.mkdir()
    try:
        with (
            open(path, "rb") as stream,
            _opened(stream, limits) as reader,
            SafeDirectory(unfinished) as below,
        ):
            summary = _Walk(reader, limits, below).run()
        try:
            os.rename(unfinished, to)
        except OSError as error:
            raise Refused.from_key(
                "archive.not_replaced", to=str(to), strerror=error.strerror
            ) from error
        return summary
    finally:
        remove_tree(unfinished)


@contextmanager
def _opened(stream: BinaryIO, limits: ArchiveLimits) -> Iterator[Reader]:
    """Yield the reader for the format, and convert its errors to ``Refused``."""
    try:
        with _seekable(stream, limits) as source:
            start = source.read(4)
            source.seek(-len(start), os.SEEK_CUR)
            if start[:2] == b"\x1f\x8b":
                yield TarReader(source)
            elif start[:2] == b"PK":
                yield ZipReader(source, limits.files)
            else:
                raise Refused.from_key("archive.unknown_format", start=start)
    except _BROKEN as error:
        raise truncated(str(error) or type(error).__name__) from error


@contextmanager
def _seekable(stream: BinaryIO, limits: ArchiveLimits) -> Iterator[BinaryIO]:
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as spool:
        while piece := stream.read(CHUNK):
            if spool.tell() > limits.total + SWELL:
                raise Refused.from_key("archive.too_large", total=size_text(limits.total))
            spool.write(piece)
        spool.seek(0)
        yield cast("BinaryIO", spool)


class _Walk:
    """One pass over an archive that enforces the limits.

    Members are written to ``below`` unless it is None.
    """

    def __init__(
        self,
        reader: Reader,
        limits: ArchiveLimits,
        below: SafeDirectory | None,
        keep: Keep | None = None,
    ) -> None:
        self._reader = reader
        self._keep = keep or (lambda name, size: False)
        self._kept: dict[str, bytes] = {}
        self._limits = limits
        self._below = below
        self._folders: set[str] = set()
        self._files: set[str] = set()
        self._bytes = 0
        self._biggest: list[tuple[str, int]] = []

    def run(self) -> Summary:
        self._check_announced()
        for member in self._reader.members():
            self._check_swelling(member)
            if steps := _steps(member):
                self._enter(member, steps)
                self._take(member, steps)
        biggest = tuple(self._biggest)
        files = frozenset(self._files)
        return Summary(len(files), self._bytes, biggest, files, self._kept)

    def _check_announced(self) -> None:
        announced = self._reader.announced()
        if sum(size for _, size in announced) > self._limits.total:
            for name, size in announced:
                self._note(name, size)
            raise self._too_big()

    def _enter(self, member: Member, steps: Sequence[str]) -> None:
        *above, path = ("/".join(steps[:end]) for end in range(1, len(steps) + 1))
        if not self._files.isdisjoint(above):
            raise refusal(member.name, get_message("archive.below_file"))
        if path in self._files or (path in self._folders and not member.folder):
            raise refusal(member.name, get_message("archive.twice"))
        self._folders.update(above)
        (self._folders if member.folder else self._files).add(path)
        if len(self._folders) + len(self._files) > self._limits.files:
            raise Refused.from_key("archive.too_many_files", files=self._limits.files)

    def _take(self, member: Member, steps: Sequence[str]) -> None:
        if member.folder:
            if self._below:
                self._below.folder(steps)
            return
        self._note("/".join(steps), member.size)
        if self._bytes + member.size > self._limits.total:
            raise self._too_big()
        if self._below is None:
            name = "/".join(steps)
            self._copy(member, None, name if self._keep(name, member.size) else "")
            return
        mode = 0o755 if member.executable else 0o644
        folder = self._below.folder(steps[:-1])
        handle = os.open(steps[-1], NEW_FILE, mode, dir_fd=folder)
        try:
            with naming(self._below.root.joinpath(*steps)):
                self._copy(member, handle)
        finally:
            os.close(handle)

    def _copy(self, member: Member, handle: int | None, keep_as: str = "") -> None:
        if keep_as:
            self._kept[keep_as] = b""  # the loop below never runs for an empty file
        while piece := self._reader.read(CHUNK):
            self._bytes += len(piece)
            if self._bytes > self._limits.total:
                raise self._too_big()
            self._check_swelling(member)
            if handle is not None:
                write_all(handle, piece)
            if keep_as:
                self._kept[keep_as] += piece

    def _check_swelling(self, member: Member) -> None:
        """Raise ``Refused`` if the archive expands too much.

        Headers count as well, because an archive bomb can consist of headers.
        """
        if self._reader.produced() > max(SWELL, RATIO * self._reader.consumed()):
            raise refusal(member.name, get_message("archive.swells", ratio=RATIO))

    def _note(self, name: str, size: int) -> None:
        if len(self._biggest) < _BIGGEST or size > self._biggest[-1][1]:
            self._biggest.append((name, size))
            self._biggest.sort(key=lambda pair: (-pair[1], pair[0]))
            del self._biggest[_BIGGEST:]

    def _too_big(self) -> Refused:
        files = ", ".join(f"{name} ({size_text(size)})" for name, size in self._biggest)
        return Refused.from_key(
            "archive.unpacks_too_large", total=size_text(self._limits.total), files=files
        )


def _steps(member: Member) -> Sequence[str]:
    """Return the parts of a member's path, or none for the root of the archive itself."""
    name = member.name
    if name.startswith("/"):
        raise refusal(name, get_message("archive.absolute"))
    steps = [step for step in name.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise refusal(name, get_message("archive.leads_out"))
    for step in steps:
        if not is_name(step):
            raise refusal(name, get_message("archive.bad_name"))
    if len(steps) > _MAX_DEPTH:
        raise refusal(name, get_message("archive.too_deep", deepest=_MAX_DEPTH))
    if not steps and not member.folder:
        raise refusal(name, get_message("archive.no_name"))
    return steps
