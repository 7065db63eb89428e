"""Copies objects from anywhere to anywhere: many at once, each checked, none by halves."""

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import BinaryIO, cast

from danlu.errors import StorageError
from danlu.storage.api import Entry, Storage
from danlu.storage.etags import comparable, matches
from danlu.storage.gathering import Gathering, Scattering, at_once, threads
from danlu.storage.hands import ONE_REQUEST, Distant, by_size, hands, is_small, share
from danlu.storage.listing import entry_of
from danlu.storage.local import FileStorage
from danlu.storage.manifest import Progressing, Tally
from danlu.storage.pour import Pour, Streaming, worthwhile
from danlu.words import say

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Move:
    """One object and where it goes; ``there``: what the target has in its place."""

    source: Storage
    entry: Entry
    goal: Storage
    key: str
    there: Entry | None = None


@dataclass
class Done:
    """What came of moves; ``same`` were there already."""

    copied: list[Move] = field(default_factory=list)
    same: list[Move] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(move.entry.size for move in self.copied)


def run(
    moves: Sequence[Move],
    progress: Progressing | None = None,
    told: Callable[[Move], None] = lambda move: None,
    *,
    dry: bool = False,
) -> Done:
    """Do the moves, but for objects that are there already; ``told`` hears of each copy.

    ``dry``: only find out which would be done.
    """
    running = _Running(Tally(sum(move.entry.size for move in moves), progress), told, dry)
    storages = {id(one): one for move in moves for one in (move.source, move.goal)}
    most = max((hands(one) for one in storages.values()), default=1)
    if not dry:
        share([move for move in moves if _can_be_gathered(move)], running.gather, threads())
        share([move for move in moves if _can_be_scattered(move)], running.scatter, threads())
        rest = [m for m in moves if not _can_be_gathered(m) and not _can_be_scattered(m)]
        moves = running.left + rest
    for part, count in by_size(moves, lambda move: move.entry.size, most):
        share(part, running.some, count)
    return running.done


def _can_be_gathered(move: Move) -> bool:
    near = isinstance(move.goal, FileStorage)
    return near and isinstance(move.source, Gathering) and is_small(move.entry.size)


def _can_be_scattered(move: Move) -> bool:
    near = isinstance(move.source, FileStorage)
    return near and isinstance(move.goal, Scattering) and is_small(move.entry.size)


@dataclass
class _Running:
    tally: Tally
    told: Callable[[Move], None]
    dry: bool
    done: Done = field(default_factory=Done)
    left: list[Move] = field(default_factory=list)  # what gathering has not brought

    def some(self, moves: Iterator[Move]) -> None:
        for move in self._needed(moves):
            if not self.dry:
                _copy(move, self.tally)
            self._note(move)

    def gather(self, moves: Iterator[Move]) -> None:
        """Do moves from one storage, or from several in turn, by few threads."""
        for source, mine in groupby(self._needed(moves), lambda move: move.source):
            assert isinstance(source, Gathering)
            wanted = ((move, move.entry) for move in mine)
            for move, entry, data in source.gather(wanted, at_once(source)):
                if data is None:
                    self.left.append(move)
                    continue
                assert isinstance(move.goal, FileStorage)
                _check_source(move, _md5(data))
                move.goal.write(move.key, data)
                self.tally.add(entry.size)
                self._note(move)

    def scatter(self, moves: Iterator[Move]) -> None:
        """Do moves to one storage: a command has one target."""
        needed = self._needed(moves)
        for first in needed:
            goal = first.goal
            assert isinstance(goal, Scattering)
            mine = (_content(move) for move in chain((first,), needed))
            for (move, md5), written in goal.scatter(mine, at_once(goal)):
                if written is None:
                    self.left.append(move)
                    continue
                _check_kept(move, md5, written)
                self.tally.add(written.size)
                self._note(move)

    def _needed(self, moves: Iterator[Move]) -> Iterator[Move]:
        """Yield the moves whose target has not these bytes already."""
        for move in moves:
            if move.there is None or not _is_same(move, move.there):
                yield move
                continue
            self.done.same.append(move)
            self.tally.add(move.entry.size)

    def _note(self, move: Move) -> None:
        self.done.copied.append(move)
        self.told(move)


def _is_same(move: Move, there: Entry) -> bool:
    """Tell whether the target has these bytes already: by etag, or by reading what is near."""
    if move.entry.size != there.size:
        return False
    if move.entry.size == 0:
        return True
    far, near = move.entry, there
    far_storage, near_storage = move.source, move.goal
    if isinstance(near_storage, Distant):
        far, near, far_storage, near_storage = near, far, near_storage, far_storage
    if isinstance(near_storage, Distant):
        return far.etag == near.etag and comparable(far)
    with near_storage.open(near.key) as file:
        if isinstance(far_storage, Distant):
            return matches(file, far)
        with far_storage.open(far.key) as other:
            return _same_bytes(file, other)


def _same_bytes(one: BinaryIO, other: BinaryIO) -> bool:
    while piece := one.read(_CHUNK):
        if piece != other.read(_CHUNK):
            return False
    return True


def _copy(move: Move, tally: Tally) -> None:
    entry = move.entry
    if entry.key.endswith("/"):
        move.goal.write(move.key, b"")
    elif move.source is move.goal:
        # Where it lies: no byte comes here.
        _check_size(move, move.goal.copy(entry.key, move.key))
        tally.add(entry.size)
    else:
        _check_kept(move, *_pass(move, tally))


def _check_source(move: Move, md5: str) -> None:
    """Raise where an object from afar may be another one by now."""
    entry = move.entry
    far = not isinstance(move.source, FileStorage)
    if far and md5 != entry.etag and move.source.stat(entry.key) != entry:
        raise StorageError(say("store.changed", key=entry.key))


def _check_kept(move: Move, md5: str, written: Entry) -> None:
    """Raise where the source has changed meanwhile, or the target has kept something else."""
    _check_size(move, written)
    _check_source(move, md5)
    # What a disk has taken needs no second look: it was told by the file itself.
    near = isinstance(move.goal, FileStorage)
    if not near and md5 != written.etag and move.goal.stat(move.key) != written:
        raise StorageError(say("store.not_kept", key=move.key))


def _pass(move: Move, tally: Tally) -> tuple[str, Entry]:
    """Return the MD5 sum of what was copied, empty for a large object, and what was written."""
    entry = move.entry
    if worthwhile(move.source, entry) and isinstance(move.goal, FileStorage):
        pouring = Pour(cast("Streaming", move.source), entry, tally.add)
        return "", move.goal.write(move.key, cast("BinaryIO", pouring))
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


def _content(move: Move) -> tuple[tuple[Move, str], str, bytes]:
    """Return the MD5 sum of a file of this machine with its move, its new key, and its bytes."""
    with move.source.open(move.entry.key) as file:
        data = file.read()
        _check_steady(move, file)
    return (move, _md5(data)), move.key, data


def _check_steady(move: Move, file: BinaryIO) -> None:
    """Raise where a file of this machine was written to while it was read."""
    near = isinstance(move.source, FileStorage)
    if near and entry_of(move.entry.key, os.fstat(file.fileno())) != move.entry:
        raise StorageError(say("store.changed", key=move.entry.key))


def _check_size(move: Move, written: Entry) -> None:
    if written.size != move.entry.size:
        raise StorageError(say("store.changed", key=move.entry.key))


class _Passing(io.RawIOBase):
    """A stream that counts what is read from it."""

    def __init__(self, stream: BinaryIO, tally: Tally) -> None:
        super().__init__()
        self._stream = stream
        self._tally = tally

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._tally.add(len(piece))
        return piece
