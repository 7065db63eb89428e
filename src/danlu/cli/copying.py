"""Copies objects from anywhere to anywhere: many at once, each checked, none by halves."""

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from danlu.cli.code import is_uri
from danlu.cli.objects import Objects, delete
from danlu.cli.request import place_uri
from danlu.errors import Refused, StorageError
from danlu.storage.api import Entry, Storage
from danlu.storage.etags import comparable, matches
from danlu.storage.hands import ONE_REQUEST, Distant, by_size, hands, share
from danlu.storage.listing import entry_of
from danlu.storage.local import FileStorage
from danlu.storage.locate import Location, file_uri, parse
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


def plan_copy(objects: Objects, sources: Sequence[str], target: str) -> list[Move]:
    """Return the moves of a copy.

    A single object goes into a target that ends in ``/`` or is a folder, else it takes the
    target's name. A tree goes below the target with its own shape; several go each into a
    folder of its own name.

    Raises:
        NotFound, Refused
    """
    several = len(sources) > 1
    goal = objects.at(target)
    if several and goal.single() is not None:
        raise Refused(say("store.many_onto_file", target=target))
    return [move for one in sources for move in _one(objects, one, target, goal, several)]


def _one(
    objects: Objects, source: str, target: str, goal: Location, several: bool
) -> Iterator[Move]:
    place = objects.at(source)
    if single := place.single():
        into = target if not several or target.endswith("/") else f"{target}/"
        at, key = _named(objects, into, single)
        yield Move(place.storage, single, at.storage, key)
        return
    entries = objects.tree(source)
    if goal.single() is not None:
        raise Refused(say("store.tree_onto_file", source=source, target=target))
    below = f"{source.rstrip('/').rpartition('/')[2]}/" if several else ""
    for path, entry in entries:
        yield Move(place.storage, entry, goal.storage, goal.prefix + below + path)


def _named(objects: Objects, target: str, single: Entry) -> tuple[Location, str]:
    goal = objects.at(target)
    name = single.key.rpartition("/")[2]
    if target.endswith("/") or (goal.single() is None and goal.exists()):
        return goal, goal.prefix + name
    if goal.key:
        return goal, goal.key
    if is_uri(target) and not target.startswith("file:"):
        return goal, name  # a bucket
    # A file that is not there yet: its folder is the storage.
    path = Path(parse(place_uri(target)).key)
    return objects.stores.at(file_uri(path.parent)), path.name


def plan_sync(objects: Objects, source: str, target: str) -> tuple[list[Move], list[Entry]]:
    """Return the moves that make ``target`` hold what ``source`` does, and what it has beyond.

    Raises:
        NotFound: nothing is at the source.
        Refused: it is a single object, or one place lies in the other.
    """
    place, goal = objects.at(source), objects.at(target)
    for text, found in ((source, place), (target, goal)):
        if found.single() is not None:
            raise Refused(say("store.sync_one", uri=text))
    one, other = objects.spot(source), objects.spot(target)
    if one.contains(other) or other.contains(one):
        raise Refused(say("store.sync_inside", source=source, target=target))
    there = {path: entry for path, entry in goal.tree()}
    moves = [
        Move(place.storage, entry, goal.storage, goal.prefix + path, there.pop(path, None))
        for path, entry in objects.tree(source)
    ]
    # A folder that is not empty needs no mark of its own.
    kept = {parent for move in moves for parent in _above(move.key[len(goal.prefix) :])}
    return moves, [entry for path, entry in there.items() if path not in kept]


def prune(
    objects: Objects,
    source: str,
    target: str,
    beyond: Sequence[Entry],
    told: Callable[[str], None],
    *,
    dry: bool = False,
) -> int:
    """Remove what a target has beyond its source; return how many objects these were."""
    gone = [entry.key for entry in beyond if not entry.key.endswith("/")]
    for key in gone:
        told(key)
    while beyond and not dry:
        delete(objects.at(target), [entry.key for entry in beyond])
        # Folders show themselves when they are empty.
        before, beyond = {entry.key for entry in beyond}, plan_sync(objects, source, target)[1]
        beyond = [entry for entry in beyond if entry.key not in before]
    return len(gone)


def _above(path: str) -> Iterator[str]:
    steps = path.split("/")
    return ("/".join(steps[:end]) + "/" for end in range(1, len(steps)))


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
    done = Done()
    tally = Tally(sum(move.entry.size for move in moves), progress)

    def some(mine: Iterator[Move]) -> None:
        for move in mine:
            if move.there is not None and _is_same(move, move.there):
                done.same.append(move)
                tally.add(move.entry.size)
                continue
            if not dry:
                _copy(move, tally)
            done.copied.append(move)
            told(move)

    storages = {id(one): one for move in moves for one in (move.source, move.goal)}
    most = max((hands(one) for one in storages.values()), default=1)
    for part, count in by_size(moves, lambda move: move.entry.size, most):
        share(part, some, count)
    return done


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
        md5, written = _pass(move, tally)
        _check_size(move, written)
        far = not isinstance(move.source, FileStorage)
        if far and md5 != entry.etag and move.source.stat(entry.key) != entry:
            raise StorageError(say("store.changed", key=entry.key))
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
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return md5, move.goal.write(move.key, data)


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
