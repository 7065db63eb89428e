"""Parallel copies of objects between storages. Each object is verified and written atomically."""

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import BinaryIO, cast

from danlu.errors import StorageError
from danlu.messages import get_message
from danlu.storage.api import Entry, Progressing, Storage, TransferProgress, comparable, matches
from danlu.storage.listing import entry_of
from danlu.storage.local import FileStorage
from danlu.storage.transfer.download import RangedDownload, RangeReadable, should_use_ranges
from danlu.storage.transfer.parallel import (
    ONE_REQUEST,
    BatchReadable,
    BatchWritable,
    RemoteStorage,
    TransferBatch,
    at_once,
    max_transfers,
    transfer_all,
)

_CHUNK = 1 << 20


@dataclass(frozen=True)
class CopyTask:
    """One object and its target. ``there``: the existing object at the target, or None."""

    source: Storage
    entry: Entry
    goal: Storage
    key: str
    there: Entry | None = None


@dataclass
class CopyResult:
    """The result of copy tasks. ``same``: objects that the target had already."""

    copied: list[CopyTask] = field(default_factory=list)
    same: list[CopyTask] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(move.entry.size for move in self.copied)


def run(
    moves: Sequence[CopyTask],
    progress: Progressing | None = None,
    on_copied: Callable[[CopyTask], None] = lambda move: None,
    *,
    dry: bool = False,
) -> CopyResult:
    """Copy the objects, except those that the target has already.

    ``on_copied`` is called with each copied task. ``dry``: copy nothing, and only return which
    objects would be copied.
    """
    running = _Running(
        TransferProgress(sum(move.entry.size for move in moves), progress), on_copied, dry
    )
    storages = {id(one): one for move in moves for one in (move.source, move.goal)}
    most = max((max_transfers(one) for one in storages.values()), default=1)
    batches = [
        TransferBatch(_can_batch_read, running.copy_by_batch_reads),
        TransferBatch(_can_batch_write, running.copy_by_batch_writes),
    ]
    transfer_all(moves, lambda move: move.entry.size, running.some, most, () if dry else batches)
    return running.done


def _can_batch_read(move: CopyTask) -> bool:
    return isinstance(move.goal, FileStorage) and isinstance(move.source, BatchReadable)


def _can_batch_write(move: CopyTask) -> bool:
    return isinstance(move.source, FileStorage) and isinstance(move.goal, BatchWritable)


@dataclass
class _Running:
    tally: TransferProgress
    on_copied: Callable[[CopyTask], None]
    dry: bool
    done: CopyResult = field(default_factory=CopyResult)

    def some(self, moves: Iterator[CopyTask]) -> None:
        for move in self._needed(moves):
            if not self.dry:
                _copy(move, self.tally)
            self._note(move)

    def copy_by_batch_reads(self, moves: Iterator[CopyTask], left: list[CopyTask]) -> None:
        """Copy objects by batch reads, from one storage or from several in turn."""
        for source, mine in groupby(self._needed(moves), lambda move: move.source):
            assert isinstance(source, BatchReadable)
            wanted = ((move, move.entry) for move in mine)
            for move, entry, data in source.read_many(wanted, at_once(source)):
                if data is None:
                    left.append(move)
                    continue
                assert isinstance(move.goal, FileStorage)
                _check_source(move, _md5(data))
                move.goal.write(move.key, data)
                self.tally.add(entry.size)
                self._note(move)

    def copy_by_batch_writes(self, moves: Iterator[CopyTask], left: list[CopyTask]) -> None:
        """Copy objects by batch writes to one storage. A command has a single target."""
        needed = self._needed(moves)
        for first in needed:
            goal = first.goal
            assert isinstance(goal, BatchWritable)
            mine = (_content(move) for move in chain((first,), needed))
            for (move, md5), written in goal.write_many(mine, at_once(goal)):
                if written is None:
                    left.append(move)
                    continue
                _check_kept(move, md5, written)
                self.tally.add(written.size)
                self._note(move)

    def _needed(self, moves: Iterator[CopyTask]) -> Iterator[CopyTask]:
        """Yield the tasks that need a copy. Count the others as done."""
        for move in moves:
            if move.there is None or not _is_same(move, move.there):
                yield move
                continue
            self.done.same.append(move)
            self.tally.add(move.entry.size)

    def _note(self, move: CopyTask) -> None:
        self.done.copied.append(move)
        self.on_copied(move)


def _is_same(move: CopyTask, there: Entry) -> bool:
    """Return True if the target has the same bytes already.

    Compare etags, and read only local files.
    """
    if move.entry.size != there.size:
        return False
    if move.entry.size == 0:
        return True
    far, near = move.entry, there
    far_storage, near_storage = move.source, move.goal
    if isinstance(near_storage, RemoteStorage):
        far, near, far_storage, near_storage = near, far, near_storage, far_storage
    if isinstance(near_storage, RemoteStorage):
        return far.etag == near.etag and comparable(far)
    with near_storage.open(near.key) as file:
        if isinstance(far_storage, RemoteStorage):
            return matches(file, far)
        with far_storage.open(far.key) as other:
            return _same_bytes(file, other)


def _same_bytes(one: BinaryIO, other: BinaryIO) -> bool:
    while piece := one.read(_CHUNK):
        if piece != other.read(_CHUNK):
            return False
    return True


def _copy(move: CopyTask, tally: TransferProgress) -> None:
    entry = move.entry
    if entry.key.endswith("/"):
        move.goal.write(move.key, b"")
    elif move.source is move.goal:
        # A copy within the storage transfers no bytes to this machine.
        _check_size(move, move.goal.copy(entry.key, move.key))
        tally.add(entry.size)
    else:
        _check_kept(move, *_pass(move, tally))


def _check_source(move: CopyTask, md5: str) -> None:
    """Raise StorageError if a remote source object may have been replaced."""
    entry = move.entry
    far = not isinstance(move.source, FileStorage)
    if far and md5 != entry.etag and move.source.stat(entry.key) != entry:
        raise StorageError(get_message("store.changed", key=entry.key))


def _check_kept(move: CopyTask, md5: str, written: Entry) -> None:
    """Raise StorageError if the source has changed or the target differs from the copy."""
    _check_size(move, written)
    _check_source(move, md5)
    # No further check for a local target. Its entry comes from the written file itself.
    near = isinstance(move.goal, FileStorage)
    if not near and md5 != written.etag and move.goal.stat(move.key) != written:
        raise StorageError(get_message("store.not_kept", key=move.key))


def _pass(move: CopyTask, tally: TransferProgress) -> tuple[str, Entry]:
    """Copy one object. Return its MD5, or "" for a large object, and the written entry."""
    entry = move.entry
    if should_use_ranges(move.source, entry) and isinstance(move.goal, FileStorage):
        download = RangedDownload(cast("RangeReadable", move.source), entry, tally.add)
        return "", move.goal.write(move.key, cast("BinaryIO", download))
    with move.source.open(entry.key) as file:
        if entry.size > ONE_REQUEST:
            written = move.goal.write(move.key, cast("BinaryIO", _Passing(file, tally)))
            _check_steady(move, file)
            return "", written
        data = file.read()
        _check_steady(move, file)
    tally.add(len(data))
    return _md5(data), move.goal.write(move.key, data)


def _md5(data: bytes | memoryview) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _content(move: CopyTask) -> tuple[tuple[CopyTask, str], str, bytes]:
    """Return a task with the MD5 of its local file, the target key, and the bytes."""
    with move.source.open(move.entry.key) as file:
        data = file.read()
        _check_steady(move, file)
    return (move, _md5(data)), move.key, data


def _check_steady(move: CopyTask, file: BinaryIO) -> None:
    """Raise StorageError if a local file was modified while it was read."""
    near = isinstance(move.source, FileStorage)
    if near and entry_of(move.entry.key, os.fstat(file.fileno())) != move.entry:
        raise StorageError(get_message("store.changed", key=move.entry.key))


def _check_size(move: CopyTask, written: Entry) -> None:
    if written.size != move.entry.size:
        raise StorageError(get_message("store.changed", key=move.entry.key))


class _Passing(io.RawIOBase):
    """A stream that counts the bytes read from it."""

    def __init__(self, stream: BinaryIO, tally: TransferProgress) -> None:
        super().__init__()
        self._stream = stream
        self._tally = tally

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._tally.add(len(piece))
        return piece
