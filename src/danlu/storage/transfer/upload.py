"""One output sync pass: upload the new files of a folder in use, and remove deleted ones.

Files that a script removed are removed at the location as well, if this task stored them. If a
saver keeps two checkpoints, the location has two as well. The removal comes last, after the
replacements have been stored.
"""

import json
import os
import posixpath
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from danlu.errors import Refused, StorageError
from danlu.messages import get_message
from danlu.storage import checkpoints
from danlu.storage.api import Entry, FileRecord, Manifest, Progressing, TransferProgress, matches
from danlu.storage.locate import Location
from danlu.storage.names import WRITTEN
from danlu.storage.transfer.download import CHUNK
from danlu.storage.transfer.outputs import FileChanged, FileVersion, OutputReader, Scan, scan
from danlu.storage.transfer.parallel import (
    BatchWritable,
    TransferBatch,
    at_once,
    max_transfers,
    transfer_all,
)

_REFERS = (".index", ".meta")
# X.index.tempstate123, X_temp_<id>/part-00000-of-00001…, checkpoint.tmp0f3a
_UNFINISHED = re.compile(
    r"\.tempstate\d+$|_temp(_[0-9a-f]+)?/part-\d+-of-\d+|(^|/)checkpoint\.tmp[0-9a-f]+$"
)


def publish_order(paths: Iterable[str]) -> list[str]:
    """Return the paths sorted by rank, then by name.

    A file that refers to other files comes after them.
    """
    return sorted(paths, key=lambda path: (rank(path), path))


def rank(path: str) -> int:
    """Return the rank of a file: 0 for ordinary files. Files refer only to lower ranks."""
    name = posixpath.basename(path)
    if name == "checkpoint":
        return 3
    if name == "saved_model.pb":
        return 2
    return 1 if name.endswith(_REFERS) else 0


def depends_on(path: str, other: str) -> bool:
    """Return True if ``path`` must not be stored while ``other`` is incomplete."""
    if rank(other) >= rank(path):
        return False
    folder, name = posixpath.split(path)
    other_folder, other_name = posixpath.split(other)
    if name == "saved_model.pb":
        return other.startswith(f"{folder}/" if folder else "")
    if folder != other_folder:
        return False
    if name == "checkpoint":
        return rank(other) == 1 or ".data-" in other_name
    return other_name.startswith(posixpath.splitext(name)[0] + ".")


def unfinished(path: str) -> bool:
    """Return True if this is a temporary file that TensorFlow will rename shortly."""
    return _UNFINISHED.search(path) is not None


class WrittenObjects:
    """The objects that this task stored, in this attempt or an earlier one: etags by path.

    ``folders``: the folders that this attempt created at the location.
    """

    def __init__(self, etags: Mapping[str, str] | None = None) -> None:
        self.etags = dict(etags or {})
        self.folders: set[str] = set()

    def begin(self, paths: Iterable[str]) -> None:
        """Record the paths that are about to be stored, before any of them is stored."""

    def may_be_own(self, path: str) -> bool:
        """Return True if this task, not another task of the job, may have stored a path."""
        return True


class SharedWrittenObjects(WrittenObjects):
    """The objects that this task stored, if several tasks of a job write to one output.

    A listing does not show which task stored an object. Each task therefore keeps a record at the
    output. The record is written before the upload, so it is complete even if the task is killed.
    """

    def __init__(self, location: Location, job_id: str, task: str) -> None:
        super().__init__()
        self._storage = location.storage
        self._key = f"{location.prefix}{WRITTEN}{job_id}/{task}.json"
        data = self._storage.read(self._key)
        self.recorded: set[str] = set(json.loads(data)) if data else set()

    def may_be_own(self, path: str) -> bool:
        return path in self.recorded

    def begin(self, paths: Iterable[str]) -> None:
        fresh = set(paths) - self.recorded
        if fresh:
            self.recorded |= fresh
            self._storage.write(self._key, json.dumps(sorted(self.recorded)).encode())


_FRESH = 100_000_000  # nanoseconds


class _Read(NamedTuple):
    """A file that is being uploaded. ``fresh``: it was modified just before it was opened."""

    path: str
    output: OutputReader
    fresh: bool


class FolderUpload:
    """One upload pass over a folder.

    ``problems``: messages by path on files to be tried again the next time. ``refused``: messages
    on what can never be stored.
    """

    def __init__(
        self,
        folder: Path,
        location: Location,
        known: Manifest,
        *,
        final: bool,
        written: WrittenObjects | None = None,
    ) -> None:
        """Initialize the pass. ``written``: objects that may be removed; None: remove nothing."""
        self._written = written
        self._folder = os.path.realpath(folder)
        self._storage = location.storage
        self._prefix = location.prefix
        self._known = known
        self._final = final
        self._max_requests = max_transfers(location.storage)
        # In a directory a file creates its folders. They are removed only if they are empty.
        self._has_folders = getattr(location.storage, "plain", False)
        self._there: dict[str, Entry] = {}
        self._before: dict[str, FileVersion] = {}
        self._marks: dict[str, FileRecord] = {}
        self._tally = TransferProgress(0, None)
        self.problems: dict[str, str] = {}
        self.refused: list[str] = []

    def run(self, progress: Progressing | None) -> Manifest:
        # Scan twice. A file that refers to others is stored only if it is unchanged since the
        # first scan. The second scan then includes all files that it refers to.
        self._before = scan(self._folder, warn=False).files
        found = scan(self._folder, warn=self._final)
        self.refused += found.refused
        new = self._new(found)
        self._look_at_location(new)
        self._tally = TransferProgress(sum(found.files[path].size for path in new), progress)
        if self._written is not None and new:
            self._written.begin(new)
        known = self._known.files
        self._marks = {path: known[path] for path in found.files if path in known}
        # Upload rank by rank, so that a file is stored after all files it may refer to.
        for _, paths in groupby(publish_order(new), rank):
            self._send(list(paths), found)
        for path in found.folders:
            if path not in self._known.folders:
                self._keep_folder(path)
        if self._written is not None and not (self.problems or self.refused):
            self._remove_gone(found, self._written)
            self._remove_folders(found, self._written)
        return Manifest(self._marks, tuple(found.folders))

    def _send(self, paths: Sequence[str], found: Scan) -> None:
        def size(path: str) -> int:
            return found.files[path].size

        batch = TransferBatch[str](
            lambda _: isinstance(self._storage, BatchWritable), self._scatter
        )
        transfer_all(paths, size, self._take, self._max_requests, [batch])

    def _remove_gone(self, found: Scan, written: WrittenObjects) -> None:
        """Remove the objects of files that are missing in both scans of the folder.

        Files that refer to others are removed first. The first scan ended before the second began.
        If a file was missing in the first scan, the ``checkpoint`` file of the second scan already
        reflects the removal. That ``checkpoint`` file has been stored.
        """
        gone = [
            path for path in written.etags if path not in found.files and path not in self._before
        ]
        if not gone or not os.path.isdir(self._folder):
            return
        spared = self._referred(found)
        for path in reversed(publish_order(gone)):
            if path in spared:
                continue
            key, etag = self._prefix + path, written.etags[path]
            entry = self._storage.stat(key)
            if entry is not None and entry.etag == etag:  # otherwise replaced by another writer
                self._storage.delete(key)
            del written.etags[path]

    def _remove_folders(self, found: Scan, written: WrittenObjects) -> None:
        """Remove the folders that this task created and that the script has removed since."""
        there = {*found.folders, *_above((*found.folders, *found.files))}
        for path in sorted(written.folders - there, reverse=True):  # subfolders first
            self._storage.delete(f"{self._prefix}{path}/")
            written.folders.discard(path)

    def _referred(self, found: Scan) -> set[str]:
        """Return the files of the checkpoints that the state files at the location name."""
        files = checkpoints.Files({*found.files, *(self._written.etags if self._written else ())})
        referred: set[str] = set()
        for path in found.files:
            if checkpoints.is_state(path, found.files[path].size):
                state = self._storage.read(self._prefix + path) or b""
                for prefix in checkpoints.prefixes(files, path, state):
                    referred.update(files.checkpoint(prefix))
        return referred

    def _keep_folder(self, path: str) -> None:
        with self._noting(path):
            self._storage.write(f"{self._prefix}{path}/", b"")
            if self._written is not None:
                self._written.folders.add(path)

    def _look_at_location(self, new: list[str]) -> None:
        """List the location if nothing is known, because an earlier attempt may have been killed.

        Only for remote storages.
        """
        if new and not self._known.files and self._max_requests > 1:
            self._there = {entry.key: entry for entry in self._storage.list(self._prefix)}

    def _new(self, found: Scan) -> list[str]:
        return [
            path
            for path, seen in found.files.items()
            if not self._is_known(path, seen) and (self._final or not unfinished(path))
        ]

    def _is_known(self, path: str, seen: FileVersion) -> bool:
        mark = self._known.files.get(path)
        return mark is not None and (mark.size, mark.mtime_ns) == (seen.size, seen.mtime_ns)

    def _take(self, paths: Iterator[str]) -> None:
        for path in paths:
            with self._noting(path), self._open(path) as output:
                read = _Read(path, output, _is_fresh(output))
                if not self._was_there(read):
                    key = self._prefix + path
                    self._keep(read, self._storage.write(key, cast("BinaryIO", output)))

    def _scatter(self, paths: Iterator[str], left: list[str]) -> None:
        storage = self._storage
        assert isinstance(storage, BatchWritable)
        for read, entry in storage.write_many(self._contents(paths), at_once(storage)):
            with read.output, self._noting(read.path):
                if entry is not None:
                    self._keep(read, entry)
                    continue
                self._tally.add(read.output.left - read.output.seen.size)  # it is read again
                left.append(read.path)

    def _contents(self, paths: Iterator[str]) -> Iterator[tuple[_Read, str, bytes]]:
        """Yield the file, key and bytes of every file that is not stored already."""
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
        """Record FileChanged in ``problems`` and Refused in ``refused``."""
        try:
            yield
        except FileChanged as reason:
            self.problems[path] = str(reason)
        except Refused as error:
            self.refused.append(error.message.rstrip("."))

    def _open(self, path: str) -> OutputReader:
        if late := next((other for other in self.problems if depends_on(path, other)), None):
            raise FileChanged(get_message("output.waits", path=path, late=late))
        output = OutputReader(self._folder, path)
        output.on_read = self._tally.add
        if rank(path) and output.seen != self._before.get(path):
            output.close()
            raise FileChanged(get_message("output.just_written", path=path))
        return output

    def _was_there(self, read: _Read) -> bool:
        """Return True if the object at the location has the bytes of the file.

        In this case, the file is read for its digest but not sent.
        """
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
        # An etag equal to the MD5 of the sent data makes another request unnecessary.
        kept = read.output.md5() == entry.etag or self._storage.stat(entry.key) == entry
        if not kept or entry.size != read.output.seen.size:
            raise StorageError.from_key("store.not_stored", key=entry.key)
        if self._written is not None:
            self._written.etags[read.path] = entry.etag
            if self._has_folders:
                self._written.folders.update(_above([read.path]))
        self._mark(read, entry)

    def _mark(self, read: _Read, entry: Entry) -> None:
        path, output = read.path, read.output
        if changed := output.changed():
            self.problems[path] = get_message("output.changed", path=path)
        mtime_ns = -1 if read.fresh or changed else output.seen.mtime_ns
        self._marks[path] = FileRecord(entry.size, mtime_ns, output.sha256())


def _above(paths: Iterable[str]) -> set[str]:
    """Return every folder above one of the paths."""
    return {
        path[:end] for path in paths for end, letter in enumerate(path) if letter == "/" and end
    }


def _is_fresh(output: OutputReader) -> bool:
    """Return True if the mtime of a file is less than 0.1 s from the current time.

    File timestamps advance in steps of up to 10 ms, and a change within the same step is not
    visible. An mtime far in the future was set explicitly, or the clock was set back. A later
    change then gets another mtime.
    """
    return abs(time.time_ns() - output.seen.mtime_ns) < _FRESH
