"""Download of the objects of a layout to a folder, in parallel for remote storages."""

import hashlib
import io
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast, runtime_checkable

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Changed as Changed
from danlu.storage.api import Entry, FileRecord, Manifest, Progressing, Storage, TransferProgress
from danlu.storage.folders import (
    DISK_FULL,
    NEW_FILE,
    SafeDirectory,
    closing,
    naming,
    write_all,
    write_at,
)
from danlu.storage.names import Layout, temporary
from danlu.storage.transfer.parallel import (
    ONE_REQUEST,
    BatchReadable,
    TransferBatch,
    at_once,
    is_small,
    max_transfers,
    run_parallel,
    transfer_all,
)

MIN_RANGE, MAX_RANGE = 8 << 20, 64 << 20  # bytes of a range; fewer requests cost a service less
_MANY = 8  # ranges per object within these limits; so many are downloaded in parallel
_NUMBER = 8  # bytes of a recorded offset


@dataclass(frozen=True)
class ByteRange:
    """A byte range of an object from ``start`` to ``end``, downloaded up to ``at``."""

    number: int
    start: int
    at: int
    end: int


class RangeProgress:
    """The progress of a ranged download, recorded in the file after the ``size`` bytes of data."""

    def __init__(self, handle: int, size: int) -> None:
        self._handle = handle
        self._size = size
        self._length = max(MIN_RANGE, min(-(-size // _MANY), MAX_RANGE))
        self._count = -(-size // self._length)

    def begin(self) -> list[ByteRange]:
        """Return all byte ranges with the progress of the file, and record the progress."""
        found = os.fstat(self._handle).st_size
        if found == self._size + self._count * _NUMBER:
            noted = os.pread(self._handle, self._count * _NUMBER, self._size)
            ends = [noted[at : at + _NUMBER] for at in range(0, len(noted), _NUMBER)]
            whole = [int.from_bytes(end, "big") for end in ends]
        else:  # a sequential partial download, or unknown content
            whole = [found if found <= self._size else 0] * self._count
        segments = [self._segment(number, whole[number]) for number in range(self._count)]
        for segment in segments:
            self.note(segment.number, segment.at)
        return segments

    def _segment(self, number: int, whole: int) -> ByteRange:
        start = number * self._length
        end = min(start + self._length, self._size)
        return ByteRange(number, start, max(start, min(whole, end)), end)

    def note(self, number: int, at: int) -> None:
        write_at(self._handle, at.to_bytes(_NUMBER, "big"), self._size + number * _NUMBER)

    def end(self) -> None:
        """Remove the recorded progress from the file."""
        os.ftruncate(self._handle, self._size)


STREAMS = 8

Take = Callable[[memoryview], None]  # the bytes are valid until it returns


@runtime_checkable
class RangeReadable(Protocol):
    """A remote storage that can stream a byte range of an object."""

    def stream(self, entry: Entry, start: int, end: int, take: Take) -> None:
        """Call ``take`` with the bytes of a range, in order, of this version of the object.

        Raises:
            Changed: the object was replaced or removed.
        """


class RangedDownload:
    """A download of an object in parallel byte ranges.

    ``on_bytes`` is called with the number of bytes of each piece that is in the file.
    """

    def __init__(
        self, storage: RangeReadable, entry: Entry, on_bytes: Callable[[int], None] = lambda _: None
    ) -> None:
        self._storage = storage
        self._entry = entry
        self._on_bytes = on_bytes

    def write_to(self, handle: int) -> None:
        """Write the object to a file. A partial download of an earlier call is resumed."""
        segments = RangeProgress(handle, self._entry.size)
        over = threading.Event()

        def some(mine: Iterator[ByteRange]) -> None:
            # Duplicate the descriptor. A blocked thread may outlive the file, and another file may
            # then get the number of the original descriptor.
            own = os.dup(handle)
            try:
                for segment in mine:
                    self._download_range(segment, own, over)
            finally:
                os.close(own)

        try:
            run_parallel(segments.begin(), some, STREAMS)
        finally:
            over.set()
        segments.end()

    def _download_range(self, segment: ByteRange, handle: int, over: threading.Event) -> None:
        at = segment.at
        noted = RangeProgress(handle, self._entry.size)
        self._on_bytes(at - segment.start)

        def take(piece: memoryview) -> None:
            nonlocal at
            if over.is_set():  # the download was cancelled; another process may own the file
                raise _Cancelled
            write_at(handle, piece, at)
            at += len(piece)
            noted.note(segment.number, at)
            self._on_bytes(len(piece))

        if at < segment.end:
            self._storage.stream(self._entry, at, segment.end, take)


class _Cancelled(Exception):
    """The download has ended, because another byte range failed."""


def should_use_ranges(storage: object, entry: Entry) -> bool:
    """Return True if an object is large, and its storage supports ranged downloads."""
    return entry.size > ONE_REQUEST and isinstance(storage, RangeReadable)


CHUNK = 1 << 20
TRIES = 3
_MD5 = re.compile(r"[0-9a-f]{32}")
_GOING_ON = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def has_md5(entry: Entry) -> bool:
    """Return True if the etag may be the MD5 of a small object.

    The MD5 of a large object costs more than another request for its etag.
    """
    return is_small(entry.size) and _MD5.fullmatch(entry.etag) is not None


@dataclass(frozen=True)
class ObjectDownload:
    """A download of single objects to folders.

    ``resume``: the folder may contain a partial download of the same objects, which is resumed.
    """

    storage: Storage
    tally: TransferProgress
    resume: bool = False

    def find_finished(self, entry: Entry, folder: int, name: str) -> FileRecord | None:
        """Return the record of a file that an earlier transfer completed, or None.

        Without ``resume``, always return None.
        """
        return self._find_finished(entry, folder, name) if self.resume else None

    def put(self, entry: Entry, folder: int, name: str, data: memoryview) -> FileRecord:
        """Write the whole ``data`` of an object to a folder, given by its descriptor.

        Raises:
            Changed: the bytes are not those of the entry.
        """
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest() if has_md5(entry) else ""
        self._check(entry, md5)
        unfinished = self._unfinished(entry)
        try:
            # A partial download of a small object is not worth resuming.
            flags = _GOING_ON | os.O_TRUNC if self.resume else NEW_FILE
            with closing(os.open(unfinished, flags, 0o666, dir_fd=folder)) as target:
                write_all(target, data)
                status = os.fstat(target)
            os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(unfinished, dir_fd=folder)
            raise
        self.tally.add(entry.size)
        return FileRecord(entry.size, status.st_mtime_ns, hashlib.sha256(data).hexdigest())

    def download(self, entry: Entry, folder: int, name: str) -> FileRecord:
        """Download an object to a folder, given by its descriptor, in the version of the entry.

        Raises:
            Changed: the object was replaced or removed.
            StorageError: the object was incomplete in every attempt.
        """
        if there := self.find_finished(entry, folder, name):
            return there
        short = 0
        for _ in range(TRIES):
            mark = self._try(entry, folder, name)
            if mark.size == entry.size:
                return mark
            short = mark.size
            self.tally.add(-short)
        raise StorageError.from_key(
            "store.came_short", key=entry.key, tries=TRIES, short=short, size=entry.size
        )

    def _try(self, entry: Entry, folder: int, name: str) -> FileRecord:
        """Download once, and return the record of the result.

        The file gets its final name only if the object is complete.
        """
        unfinished = self._unfinished(entry)
        there = keep = False
        try:
            mark, md5 = self._copy(entry, folder, unfinished)
            whole = mark.size == entry.size
            self._check(entry, md5 if whole else None)
            if whole:
                os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
                there = True
        except BaseException as error:
            keep = self.resume and not isinstance(error, Changed)
            raise
        finally:
            if not there and not keep:
                with suppress(FileNotFoundError):
                    os.unlink(unfinished, dir_fd=folder)
        return mark

    def _check(self, entry: Entry, md5: str | None) -> None:
        """Raise Changed unless the MD5 equals the etag or the storage still has the entry."""
        if md5 != entry.etag and self.storage.stat(entry.key) != entry:
            raise Changed.from_key("store.changed_while_read", key=entry.key)

    def _unfinished(self, entry: Entry) -> str:
        if not self.resume:
            return temporary(os.urandom(6).hex())
        text = f"{entry.key}\0{entry.etag}"
        return temporary(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])

    def _find_finished(self, entry: Entry, folder: int, name: str) -> FileRecord | None:
        """Return the record of a completed file, or None.

        A file with its final name and the right size is complete.
        """
        with suppress(FileNotFoundError):
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with closing(handle):
                status = os.fstat(handle)
                if status.st_size == entry.size:
                    self.tally.add(entry.size)
                    if should_use_ranges(self.storage, entry):
                        return FileRecord(entry.size, status.st_mtime_ns, "", entry.etag)
                    digest = hashlib.sha256()
                    _add(handle, digest)
                    return FileRecord(entry.size, status.st_mtime_ns, digest.hexdigest())
        return None

    def _copy(self, entry: Entry, folder: int, name: str) -> tuple[FileRecord, str]:
        """Return the record of the downloaded file, and its MD5 if the etag is comparable."""
        if should_use_ranges(self.storage, entry):
            with closing(self._file(folder, name)) as target:
                RangedDownload(cast("RangeReadable", self.storage), entry, self.tally.add).write_to(
                    target
                )
                status = os.fstat(target)
            return FileRecord(status.st_size, status.st_mtime_ns, "", entry.etag), ""
        sums = [hashlib.sha256()]
        if has_md5(entry):
            sums.append(hashlib.md5(usedforsecurity=False))
        with self._open(entry) as source, closing(self._file(folder, name)) as target:
            self._fill(source, target, sums)
            status = os.fstat(target)
        mark = FileRecord(status.st_size, status.st_mtime_ns, sums[0].hexdigest())
        return mark, sums[1].hexdigest() if len(sums) > 1 else ""

    def _file(self, folder: int, name: str) -> int:
        return os.open(name, _GOING_ON if self.resume else NEW_FILE, 0o666, dir_fd=folder)

    def _open(self, entry: Entry) -> BinaryIO:
        try:
            # Services return an error for a range request on an empty object.
            return self.storage.open(entry.key) if entry.size else io.BytesIO()
        except NotFound as error:
            raise Changed.from_key("store.removed_while_read", key=entry.key) from error

    def _fill(self, source: BinaryIO, target: int, sums: list[Any]) -> None:
        if self.resume and (here := _add(target, *sums)):
            self.tally.add(here)
            source.seek(here)
        while piece := source.read(CHUNK):
            for digest in sums:
                digest.update(piece)
            write_all(target, piece)
            self.tally.add(len(piece))


def _add(handle: int, *sums: Any) -> int:
    """Update the digests with the rest of a file. Return the number of bytes."""
    count = 0
    while piece := os.read(handle, CHUNK):
        count += len(piece)
        for digest in sums:
            digest.update(piece)
    return count


File = tuple[str, Entry]  # a relative path and its object


def fetch(
    storage: Storage,
    layout: Layout,
    to: Path,
    progress: Progressing | None = None,
    *,
    resume: bool = False,
) -> Manifest:
    """Download the objects of a layout in exactly the listed versions.

    Objects of a remote storage are downloaded in parallel. ``resume``: a partial download of the
    same layout in ``to`` is resumed.

    Raises:
        Changed: an object has changed since it was listed.
    """
    fetching = _Fetching(
        to, ObjectDownload(storage, TransferProgress(layout.size, progress), resume)
    )
    with _writing(to, ""):
        to.mkdir(parents=True, exist_ok=True)
    fetching.run(layout.files)
    with SafeDirectory(to) as below:
        for path in layout.folders:
            with _writing(to, path):
                below.folder(path.split("/"))
    return Manifest({path: fetching.marks[path] for path, _ in layout.files}, layout.folders)


@dataclass
class _Fetching:
    to: Path
    arrival: ObjectDownload
    marks: dict[str, FileRecord] = field(default_factory=dict)

    def run(self, files: Sequence[File]) -> None:
        storage = self.arrival.storage
        batch = TransferBatch[File](
            lambda _: isinstance(storage, BatchReadable), self._download_batch
        )
        most = max_transfers(storage)
        transfer_all(files, lambda file: file[1].size, self._download_files, most, [batch])

    def _download_files(self, files: Iterator[File]) -> None:
        with SafeDirectory(self.to) as below:
            for path, entry in files:
                with _writing(self.to, path):
                    folder, name = _place(below, path)
                    self.marks[path] = self.arrival.download(entry, folder, name)

    def _download_batch(self, files: Iterator[File], left: list[File]) -> None:
        storage = self.arrival.storage
        assert isinstance(storage, BatchReadable)
        with SafeDirectory(self.to) as below:
            wanted = self._missing(files, below)
            for path, entry, data in storage.read_many(wanted, at_once(storage)):
                if data is None:
                    left.append((path, entry))
                    continue
                with _writing(self.to, path):
                    folder, name = _place(below, path)
                    self.marks[path] = self.arrival.put(entry, folder, name, data)

    def _missing(self, files: Iterator[File], below: SafeDirectory) -> Iterator[File]:
        for path, entry in files:
            with _writing(self.to, path):
                mark = self.arrival.find_finished(entry, *_place(below, path))
            if mark is None:
                yield path, entry
            else:
                self.marks[path] = mark


def _place(below: SafeDirectory, path: str) -> tuple[int, str]:
    *above, name = path.split("/")
    return below.folder(above), name


@contextmanager
def _writing(to: Path, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        place = to / path
        if error.errno in DISK_FULL:
            with naming(place):
                raise
        raise StorageError.from_key(
            "store.not_written", place=str(place), strerror=error.strerror
        ) from error
