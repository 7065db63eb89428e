"""Whole trees: from a storage to a folder, and back.

Every file is checked by size and etag and carries a sum; a reader of the target sees whole
files only. Nothing at the target is ever removed.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, cast

from danlu.errors import NotFound, Refused, StorageError
from danlu.storage.api import Entry, Storage
from danlu.storage.arrival import CHUNK, TRIES, Arrival, Changed
from danlu.storage.etags import matches
from danlu.storage.hands import by_size, hands, share
from danlu.storage.inside import DISK_FULL, Below, naming
from danlu.storage.layout import Layout, lay_out
from danlu.storage.locate import Location
from danlu.storage.manifest import Manifest, Mark, Progressing, Tally
from danlu.storage.order import publish_order, rank, refers, unfinished
from danlu.storage.outputs import Output, Scan, Seen, Unsteady, scan

_FRESH = 100_000_000  # nanoseconds
_SHOWN = 3


def pull(location: Location, to: Path, progress: Progressing | None = None) -> Manifest:
    """Bring every object at ``location`` below the folder ``to``; a single object by its name.

    Empty folders come too. Files that are there are replaced, links in ``to`` are not followed.

    Raises:
        NotFound: nothing is at the location.
        Refused: a key that would lead out of ``to``; nothing was written then.
        StorageError: objects kept changing, or came short.
        OSError: the disk is full; ``filename`` says where.
    """
    for left in reversed(range(TRIES)):
        layout = plan(location)
        try:
            return fetch(location.storage, layout, to, progress)
        except Changed:
            if not left:
                raise
    raise AssertionError("unreachable")


def plan(location: Location) -> Layout:
    """Return what :func:`fetch` would bring. Raises as :func:`pull` does."""
    layout = lay_out(location.tree(), location.uri)
    if not layout.files and not layout.folders and not location.exists():
        raise NotFound("object", location.uri, hint="Nothing is there, and nothing below it.")
    return layout


def fetch(
    storage: Storage,
    layout: Layout,
    to: Path,
    progress: Progressing | None = None,
    *,
    resume: bool = False,
) -> Manifest:
    """Bring the objects of a layout, and exactly these versions of them; several at once where the
    storage is across a network.

    ``resume``: what an earlier fetch of this very layout left in ``to`` is gone on with.

    Raises:
        Changed: one has changed since it was listed.
    """
    tally = Tally(layout.size, progress)
    marks: dict[str, Mark] = {}
    arrival = Arrival(storage, tally, resume)
    with _writing(to):
        to.mkdir(parents=True, exist_ok=True)

    def bring(files: Iterator[tuple[str, Entry]]) -> None:
        with Below(to) as below:
            for path, entry in files:
                *above, name = path.split("/")
                with _writing(to / path):
                    marks[path] = arrival.bring(entry, below.folder(above), name)

    for files, count in by_size(layout.files, lambda file: file[1].size, hands(storage)):
        share(files, bring, count)
    with Below(to) as below:
        for path in layout.folders:
            with _writing(to / path):
                below.folder(path.split("/"))
    return Manifest({path: marks[path] for path, _ in layout.files}, layout.folders)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        with naming(path):
            yield
    except OSError as error:
        if error.errno in DISK_FULL:
            raise
        raise StorageError(f"{str(path)!r} cannot be written: {error.strerror}.") from error


def push(
    folder: Path,
    location: Location,
    known: Manifest | None = None,
    progress: Progressing | None = None,
    *,
    final: bool = False,
) -> Manifest:
    """Store the files of a folder at ``location``, those that are not as ``known`` says.

    Made for a folder in use: a file that grows is stored as far as it goes and taken again next
    time, one that vanishes is left out, and what refers to other files (``checkpoint``, an
    index) is stored after them and not before they are complete. ``final``: nobody writes any
    more, so every file must come through.

    Returns what the location now holds of this folder, to be given as ``known`` next time.

    Raises:
        StorageError: the location does not keep what was written, or, when ``final``, a file
            could not be read or kept changing.
        Refused: when ``final``, all is stored but what the location can never keep.
    """
    for left in reversed(range(TRIES if final else 1)):
        mirror = _Mirror(folder, location, known or Manifest(), final=final)
        known = mirror.run(progress)
        if mirror.refused and final:
            raise Refused(f"The store cannot keep all of it: {_listed(mirror.refused)}.")
        if not mirror.problems or not final:
            return known
        if not left:
            problems = "; ".join(mirror.problems.values())
            raise StorageError(f"Outputs could not be read to their end: {problems}.")
    raise AssertionError("unreachable")


def _listed(sentences: Sequence[str]) -> str:
    more = len(sentences) - _SHOWN
    return "; ".join(sentences[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


class _Mirror:
    """One pass over a folder."""

    def __init__(self, folder: Path, location: Location, known: Manifest, *, final: bool) -> None:
        self._folder = os.path.realpath(folder)
        self._storage = location.storage
        self._prefix = location.prefix
        self._known = known
        self._final = final
        self._hands = hands(location.storage)
        self._there: dict[str, Entry] = {}
        self.problems: dict[str, str] = {}
        self.refused: list[str] = []

    def run(self, progress: Progressing | None) -> Manifest:
        # First what refers, then the rest: what it refers to was there before it was seen.
        before = scan(self._folder, warn=False).files
        found = scan(self._folder, warn=self._final)
        self.refused += found.refused
        new = self._new(found)
        self._look_at_location(new)
        tally = Tally(sum(found.files[path].size for path in new), progress)
        marks = {path: self._known.files[path] for path in found.files if path in self._known.files}

        def take(paths: Iterator[str]) -> None:
            for path in paths:
                if mark := self._take(path, before.get(path), tally):
                    marks[path] = mark

        # Rank by rank: what refers waits until all it may refer to is there.
        for _, paths in groupby(publish_order(new), rank):
            for some, count in by_size(paths, lambda path: found.files[path].size, self._hands):
                share(some, take, count)
        for path in found.folders:
            if path not in self._known.folders:
                self._keep_folder(path)
        return Manifest(marks, tuple(found.folders))

    def _keep_folder(self, path: str) -> None:
        try:
            self._storage.write(f"{self._prefix}{path}/", b"")
        except Refused as error:
            self.refused.append(error.message.rstrip("."))

    def _look_at_location(self, new: list[str]) -> None:
        """Learn what is there already, when nothing is known: an earlier attempt was killed."""
        if new and not self._known.files and self._hands > 1:
            self._there = {entry.key: entry for entry in self._storage.list(self._prefix)}

    def _new(self, found: Scan) -> list[str]:
        return [
            path
            for path, seen in found.files.items()
            if not self._is_known(path, seen) and (self._final or not unfinished(path))
        ]

    def _is_known(self, path: str, seen: Seen) -> bool:
        mark = self._known.files.get(path)
        return mark is not None and (mark.size, mark.mtime_ns) == (seen.size, seen.mtime_ns)

    def _take(self, path: str, before: Seen | None, tally: Tally) -> Mark | None:
        if late := next((other for other in self.problems if refers(path, other)), None):
            self.problems[path] = f"{path}: waits for {late}"
            return None
        try:
            with Output(self._folder, path) as output:
                if rank(path) and output.seen != before:
                    raise Unsteady(f"{path}: has just been written")
                return self._store(path, output, tally)
        except Unsteady as reason:
            self.problems[path] = str(reason)
            return None
        except Refused as error:
            self.refused.append(error.message.rstrip("."))
            return None

    def _store(self, path: str, output: Output, tally: Tally) -> Mark:
        key = self._prefix + path
        # Clocks of files tick in steps of up to 10 ms: a change in the same step goes unseen.
        fresh = output.seen.mtime_ns > time.time_ns() - _FRESH
        output.told = tally.add
        entry = self._there.get(key)
        if entry is None or not self._is_there(output, entry):
            entry = self._storage.write(key, cast("BinaryIO", output))
            # The service's own sum of what it was sent is as good as another look.
            kept = output.md5() == entry.etag or self._storage.stat(key) == entry
            if not kept or entry.size != output.seen.size:
                raise StorageError(
                    f"The storage did not keep the object {key!r} as it was written."
                )
        if changed := output.changed():
            self.problems[path] = f"{path}: changed while it was read"
        mtime_ns = -1 if fresh or changed else output.seen.mtime_ns
        return Mark(entry.size, mtime_ns, output.sha256())

    def _is_there(self, output: Output, entry: Entry) -> bool:
        """Tell whether the object holds just these bytes; then they are read, not sent."""
        if entry.size != output.seen.size:
            return False
        with output.beginning() as file:
            same = matches(file, entry)
        output.rewind()
        while same and output.read(CHUNK):
            pass
        return same
