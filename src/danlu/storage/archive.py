"""Code archives, checked and unpacked by us: .tar.gz and .zip, from people we do not know.

Only regular files and folders below the target; every limit holds while bytes stream, so that a
bomb is refused when it begins to swell. An archive is refused with the reason and the name of the
member at fault.
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
from danlu.storage.archive_reader import Member, Reader, refusal, truncated
from danlu.storage.archive_tar import TarReader
from danlu.storage.archive_zip import ZipReader
from danlu.storage.inside import NEW_FILE, Below, naming, write_all
from danlu.storage.names import is_name
from danlu.storage.removal import remove

Keep = Callable[[str, int], bool]  # name and announced size

CHUNK = 1 << 18
RATIO = 250  # bytes out per byte in, beyond SWELL: no source code is so regular
SWELL = 64 << 20
_BIGGEST = 5
_DEEPEST = 100
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
class Limits:
    """``total``: bytes of all files unpacked; ``files``: how many files and folders."""

    total: int
    files: int


@dataclass(frozen=True)
class Summary:
    """What an archive holds: ``biggest`` are its five largest files, ``names`` the paths of all,
    ``kept`` the bytes that were asked for."""

    files: int
    bytes: int
    biggest: tuple[tuple[str, int], ...]
    names: frozenset[str] = frozenset()
    kept: Mapping[str, "builtins.bytes"] = field(default_factory=dict)


def check(stream: BinaryIO, limits: Limits, keep: Keep | None = None) -> Summary:
    """Read a whole archive, write nothing, and say what is in it; ``keep`` chooses by name and
    size the files whose bytes are returned too.

    Raises:
        Refused: it is broken, too big, or holds what :func:`unpack` would not write.
    """
    with _opened(stream, limits) as reader:
        return _Walk(reader, limits, None, keep).run()


def unpack(path: Path, to: Path, limits: Limits) -> Summary:
    """Unpack an archive as the folder ``to``, which appears whole or not at all.

    Files are 0644, or 0755 where the archive says executable; nothing is ever setuid.

    Raises:
        Refused: as :func:`check`, or ``to`` is there already and not empty.
        OSError: the disk is full; ``filename`` says where.
    """
    to.parent.mkdir(parents=True, exist_ok=True)
    unfinished = to.with_name(f".{to.name.lstrip('.')}-{os.urandom(6).hex()}")
    unfinished.mkdir()
    try:
        with (
            open(path, "rb") as stream,
            _opened(stream, limits) as reader,
            Below(unfinished) as below,
        ):
            summary = _Walk(reader, limits, below).run()
        try:
            os.rename(unfinished, to)
        except OSError as error:
            raise Refused(f"{str(to)!r} cannot be replaced: {error.strerror}.") from error
        return summary
    finally:
        remove(unfinished)


def human(size: int) -> str:
    """Return a size for people: '12.3 MB'."""
    amount = float(size)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.1f} {unit}" if unit != "bytes" else f"{size} bytes"
        amount /= 1024
    return f"{amount:.1f} GB"


@contextmanager
def _opened(stream: BinaryIO, limits: Limits) -> Iterator[Reader]:
    """Give the reader of the format, and turn what it trips over into a sentence."""
    try:
        with _seekable(stream, limits) as source:
            start = source.read(4)
            source.seek(-len(start), os.SEEK_CUR)
            if start[:2] == b"\x1f\x8b":
                yield TarReader(source)
            elif start[:2] == b"PK":
                yield ZipReader(source, limits.files)
            else:
                raise Refused(
                    f"The archive is neither .tar.gz nor .zip: it begins with {start!r}.",
                    hint="Pack the folder with: tar -czf code.tar.gz -C FOLDER .",
                )
    except _BROKEN as error:
        raise truncated(str(error) or type(error).__name__) from error


@contextmanager
def _seekable(stream: BinaryIO, limits: Limits) -> Iterator[BinaryIO]:
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as spool:
        while piece := stream.read(CHUNK):
            if spool.tell() > limits.total + SWELL:
                raise Refused(f"The archive alone is over {human(limits.total)}, packed as it is.")
            spool.write(piece)
        spool.seek(0)
        yield cast("BinaryIO", spool)


class _Walk:
    """Goes through an archive once, keeping count; writes below ``below`` where it is given."""

    def __init__(
        self, reader: Reader, limits: Limits, below: Below | None, keep: Keep | None = None
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
            raise refusal(member.name, "lies below a file of the archive")
        if path in self._files or (path in self._folders and not member.folder):
            raise refusal(member.name, "is there twice")
        self._folders.update(above)
        (self._folders if member.folder else self._files).add(path)
        if len(self._folders) + len(self._files) > self._limits.files:
            raise Refused(
                f"The archive holds more than {self._limits.files:,} files and folders.",
                hint="Leave data out of the code folder: it belongs into a bucket.",
            )

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
        while piece := self._reader.read(CHUNK):
            self._bytes += len(piece)
            if self._bytes > self._limits.total:
                raise self._too_big()
            self._check_swelling(member)
            if handle is not None:
                write_all(handle, piece)
            if keep_as:
                self._kept[keep_as] = self._kept.get(keep_as, b"") + piece

    def _check_swelling(self, member: Member) -> None:
        """Headers count too: they are as good for a bomb as files are."""
        if self._reader.produced() > max(SWELL, RATIO * self._reader.consumed()):
            raise refusal(member.name, f"swells to over {RATIO} times its packed size")

    def _note(self, name: str, size: int) -> None:
        if len(self._biggest) < _BIGGEST or size > self._biggest[-1][1]:
            self._biggest.append((name, size))
            self._biggest.sort(key=lambda pair: (-pair[1], pair[0]))
            del self._biggest[_BIGGEST:]

    def _too_big(self) -> Refused:
        files = ", ".join(f"{name} ({human(size)})" for name, size in self._biggest)
        return Refused(
            f"The archive unpacks to more than {human(self._limits.total)}. "
            f"The biggest files: {files}.",
            hint="Leave data out of the code folder: it belongs into a bucket.",
        )


def _steps(member: Member) -> Sequence[str]:
    """Return the path of a member, step by step; none for the root of the archive itself."""
    name = member.name
    if name.startswith("/"):
        raise refusal(name, "has an absolute name")
    steps = [step for step in name.split("/") if step not in ("", ".")]
    if ".." in steps:
        raise refusal(name, "leads out of the archive by '..'")
    for step in steps:
        if not is_name(step):
            raise refusal(name, "has a name no disk can hold")
    if len(steps) > _DEEPEST:
        raise refusal(name, f"lies over {_DEEPEST} folders deep")
    if not steps and not member.folder:
        raise refusal(name, "is a file without a name")
    return steps
