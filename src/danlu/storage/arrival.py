"""One object becomes one file: checked, and whole when it has its name."""

import hashlib
import io
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Changed as Changed
from danlu.storage.api import Entry, Storage
from danlu.storage.hands import is_small
from danlu.storage.inside import NEW_FILE, closing, write_all
from danlu.storage.manifest import Mark, Tally
from danlu.storage.names import temporary
from danlu.storage.pour import Pour, Streaming, worthwhile

CHUNK = 1 << 20
TRIES = 3
_MD5 = re.compile(r"[0-9a-f]{32}")
_GOING_ON = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def has_md5(entry: Entry) -> bool:
    """Tell whether the etag may be the MD5 sum of the bytes, and these are few enough to add up.

    The sum of a large object costs more than to ask for its etag once more.
    """
    return is_small(entry.size) and _MD5.fullmatch(entry.etag) is not None


@dataclass(frozen=True)
class Arrival:
    """``resume``: the folder was filled from just these objects before, and may go on."""

    storage: Storage
    tally: Tally
    resume: bool = False

    def there(self, entry: Entry, folder: int, name: str) -> Mark | None:
        """Return the mark of a file that an earlier transfer finished, where it may go on."""
        return self._there(entry, folder, name) if self.resume else None

    def put(self, entry: Entry, folder: int, name: str, data: memoryview) -> Mark:
        """Write the bytes of an object to a folder, by its descriptor: all of them are there.

        Raises:
            Changed: they are not those of the entry.
        """
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest() if has_md5(entry) else ""
        self._check(entry, md5)
        unfinished = self._unfinished(entry)
        try:
            # Of a small object a beginning is not worth to go on with.
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
        return Mark(entry.size, status.st_mtime_ns, hashlib.sha256(data).hexdigest())

    def bring(self, entry: Entry, folder: int, name: str) -> Mark:
        """Write an object to a folder, by its descriptor, in exactly the version of the entry.

        Raises:
            Changed: there is another one now.
            StorageError: it came short again and again.
        """
        if there := self.there(entry, folder, name):
            return there
        short = 0
        for _ in range(TRIES):
            mark = self._try(entry, folder, name)
            if mark.size == entry.size:
                return mark
            short = mark.size
            self.tally.add(-short)
        raise StorageError(
            f"The object {entry.key!r} came short {TRIES} times: "
            f"{short} bytes instead of {entry.size}."
        )

    def _try(self, entry: Entry, folder: int, name: str) -> Mark:
        """Return the mark of what came; the file has its name if that is all of the object."""
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
        """Raise Changed where neither a sum nor the storage says that it is this object."""
        if md5 != entry.etag and self.storage.stat(entry.key) != entry:
            raise Changed(f"The object {entry.key!r} changed while it was read.")

    def _unfinished(self, entry: Entry) -> str:
        if not self.resume:
            return temporary(os.urandom(6).hex())
        text = f"{entry.key}\0{entry.etag}"
        return temporary(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12])

    def _there(self, entry: Entry, folder: int, name: str) -> Mark | None:
        """Return the mark of a file an earlier transfer finished: before, it has no name."""
        with suppress(FileNotFoundError):
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with closing(handle):
                status = os.fstat(handle)
                if status.st_size == entry.size:
                    self.tally.add(entry.size)
                    if worthwhile(self.storage, entry):
                        return Mark(entry.size, status.st_mtime_ns, "", entry.etag)
                    digest = hashlib.sha256()
                    _add(handle, digest)
                    return Mark(entry.size, status.st_mtime_ns, digest.hexdigest())
        return None

    def _copy(self, entry: Entry, folder: int, name: str) -> tuple[Mark, str]:
        """Return the mark of what came, and its MD5 sum where that can be compared."""
        if worthwhile(self.storage, entry):
            with closing(self._file(folder, name)) as target:
                Pour(cast("Streaming", self.storage), entry, self.tally.add).pour(target)
                status = os.fstat(target)
            return Mark(status.st_size, status.st_mtime_ns, "", entry.etag), ""
        sums = [hashlib.sha256()]
        if has_md5(entry):
            sums.append(hashlib.md5(usedforsecurity=False))
        with self._open(entry) as source, closing(self._file(folder, name)) as target:
            self._fill(source, target, sums)
            status = os.fstat(target)
        mark = Mark(status.st_size, status.st_mtime_ns, sums[0].hexdigest())
        return mark, sums[1].hexdigest() if len(sums) > 1 else ""

    def _file(self, folder: int, name: str) -> int:
        return os.open(name, _GOING_ON if self.resume else NEW_FILE, 0o666, dir_fd=folder)

    def _open(self, entry: Entry) -> BinaryIO:
        try:
            # Of nothing there is nothing to ask for: services answer such a request with an error.
            return self.storage.open(entry.key) if entry.size else io.BytesIO()
        except NotFound as error:
            raise Changed(f"The object {entry.key!r} was removed while it was read.") from error

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
    """Add the rest of a file to sums; return how much that was."""
    count = 0
    while piece := os.read(handle, CHUNK):
        count += len(piece)
        for digest in sums:
            digest.update(piece)
    return count
