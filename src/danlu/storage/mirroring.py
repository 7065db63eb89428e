"""One pass over a folder in use: what is new in it goes to a location."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from danlu.errors import Refused, StorageError
from danlu.storage.api import Entry
from danlu.storage.arrival import CHUNK
from danlu.storage.etags import matches
from danlu.storage.gathering import Scattering, at_once, threads
from danlu.storage.hands import by_size, hands, is_small, share
from danlu.storage.locate import Location
from danlu.storage.manifest import Manifest, Mark, Progressing, Tally
from danlu.storage.order import publish_order, rank, refers, unfinished
from danlu.storage.outputs import Output, Scan, Seen, Unsteady, scan

_FRESH = 100_000_000  # nanoseconds


class _Read(NamedTuple):
    """A file that is on its way; ``fresh``: it was written to a moment before it was opened."""

    path: str
    output: Output
    fresh: bool


class Mirror:
    """``problems`` are sentences by path on what is to be taken next time."""

    def __init__(self, folder: Path, location: Location, known: Manifest, *, final: bool) -> None:
        self._folder = os.path.realpath(folder)
        self._storage = location.storage
        self._prefix = location.prefix
        self._known = known
        self._final = final
        self._hands = hands(location.storage)
        self._there: dict[str, Entry] = {}
        self._before: dict[str, Seen] = {}
        self._marks: dict[str, Mark] = {}
        self._left: list[str] = []  # what scattering has not stored
        self._tally = Tally(0, None)
        self.problems: dict[str, str] = {}
        self.refused: list[str] = []

    def run(self, progress: Progressing | None) -> Manifest:
        # First what refers, then the rest: what it refers to was there before it was seen.
        self._before = scan(self._folder, warn=False).files
        found = scan(self._folder, warn=self._final)
        self.refused += found.refused
        new = self._new(found)
        self._look_at_location(new)
        self._tally = Tally(sum(found.files[path].size for path in new), progress)
        known = self._known.files
        self._marks = {path: known[path] for path in found.files if path in known}
        # Rank by rank: what refers waits until all it may refer to is there.
        for _, paths in groupby(publish_order(new), rank):
            self._send(list(paths), found)
        for path in found.folders:
            if path not in self._known.folders:
                self._keep_folder(path)
        return Manifest(self._marks, tuple(found.folders))

    def _send(self, paths: Sequence[str], found: Scan) -> None:
        def size(path: str) -> int:
            return found.files[path].size

        if isinstance(self._storage, Scattering):
            small = [path for path in paths if is_small(size(path))]
            share(small, self._scatter, threads())
            paths = self._left + [path for path in paths if not is_small(size(path))]
            self._left = []
        for some, count in by_size(paths, size, self._hands):
            share(some, self._take, count)

    def _keep_folder(self, path: str) -> None:
        with self._noting(path):
            self._storage.write(f"{self._prefix}{path}/", b"")

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

    def _take(self, paths: Iterator[str]) -> None:
        for path in paths:
            with self._noting(path), self._open(path) as output:
                read = _Read(path, output, _is_fresh(output))
                if not self._was_there(read):
                    key = self._prefix + path
                    self._keep(read, self._storage.write(key, cast("BinaryIO", output)))

    def _scatter(self, paths: Iterator[str]) -> None:
        storage = self._storage
        assert isinstance(storage, Scattering)
        for read, entry in storage.scatter(self._contents(paths), at_once(storage)):
            with read.output, self._noting(read.path):
                if entry is not None:
                    self._keep(read, entry)
                    continue
                self._tally.add(read.output.left - read.output.seen.size)  # it is read again
                self._left.append(read.path)

    def _contents(self, paths: Iterator[str]) -> Iterator[tuple[_Read, str, bytes]]:
        """Yield the bytes of every file that is not there already, and their key."""
        for path in paths:
            read, data = None, b""
            with self._noting(path):
                output = self._open(path)
                read = _Read(path, output, _is_fresh(output))
                if self._was_there(read):
                    output.close()
                    read = None
                else:
                    data = output.read()
            if read is not None:
                yield read, self._prefix + path, data

    @contextmanager
    def _noting(self, path: str) -> Iterator[None]:
        """Remember what cannot be stored now, and what never can."""
        try:
            yield
        except Unsteady as reason:
            self.problems[path] = str(reason)
        except Refused as error:
            self.refused.append(error.message.rstrip("."))

    def _open(self, path: str) -> Output:
        if late := next((other for other in self.problems if refers(path, other)), None):
            raise Unsteady(f"{path}: waits for {late}")
        output = Output(self._folder, path)
        output.told = self._tally.add
        if rank(path) and output.seen != self._before.get(path):
            output.close()
            raise Unsteady(f"{path}: has just been written")
        return output

    def _was_there(self, read: _Read) -> bool:
        """Tell whether the object holds just these bytes; then they are read, not sent."""
        entry, output = self._there.get(self._prefix + read.path), read.output
        if entry is None or entry.size != output.seen.size:
            return False
        with output.beginning() as file:
            same = matches(file, entry)
        output.rewind()
        while same and output.read(CHUNK):
            pass
        if same:
            self._mark(read, entry)
        return same

    def _keep(self, read: _Read, entry: Entry) -> None:
        # The service's own sum of what it was sent is as good as another look.
        kept = read.output.md5() == entry.etag or self._storage.stat(entry.key) == entry
        if not kept or entry.size != read.output.seen.size:
            raise StorageError(
                f"The storage did not keep the object {entry.key!r} as it was written."
            )
        self._mark(read, entry)

    def _mark(self, read: _Read, entry: Entry) -> None:
        path, output = read.path, read.output
        if changed := output.changed():
            self.problems[path] = f"{path}: changed while it was read"
        mtime_ns = -1 if read.fresh or changed else output.seen.mtime_ns
        self._marks[path] = Mark(entry.size, mtime_ns, output.sha256())


def _is_fresh(output: Output) -> bool:
    """Clocks of files tick in steps of up to 10 ms: a change in the same step goes unseen."""
    return output.seen.mtime_ns > time.time_ns() - _FRESH
