"""One object becomes one file: checked, and whole when it has its name."""

import hashlib
import io
import os
import re
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from danlu.errors import NotFound, StorageError
from danlu.storage.api import Changed as Changed
from danlu.storage.api import Entry, Storage
from danlu.storage.hands import ONE_REQUEST
from danlu.storage.inside import NEW_FILE, closing, write_all
from danlu.storage.manifest import Mark, Tally
from danlu.storage.names import temporary
from danlu.storage.pour import Pour, Streaming, worthwhile
from danlu.storage.segments import add

CHUNK = 1 << 20
TRIES = 3
_MD5 = re.compile(r"[0-9a-f]{32}")
_GOING_ON = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = NEW_FILE & ~os.O_WRONLY | os.O_RDWR  # what was written is read again for its sum


def has_md5(entry: Entry) -> bool:
    """Tell whether the etag may be the MD5 sum of the bytes, and these are few enough to add up.

    The sum of a large object costs more than to ask for its etag once more.
    """
    return 0 < entry.size <= ONE_REQUEST and _MD5.fullmatch(entry.etag) is not None


@dataclass(frozen=True)
class Arrival:
    """``resume``: the folder was filled from just these objects before, and may go on."""

    storage: Storage
    tally: Tally
    resume: bool = False

    def bring(self, entry: Entry, folder: int, name: str) -> Mark:
        """Write an object to a folder, by its descriptor, in exactly the version of the entry.

        Raises:
            Changed: there is another one now.
            StorageError: it came short again and again.
        """
        if self.resume and (there := self._there(entry, folder, name)):
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
            if not (whole and md5 == entry.etag) and self.storage.stat(entry.key) != entry:
                raise Changed(f"The object {entry.key!r} changed while it was read.")
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
                    digest = hashlib.sha256()
                    add(handle, 0, entry.size, digest)
                    self.tally.add(entry.size)
                    return Mark(entry.size, status.st_mtime_ns, digest.hexdigest())
        return None

    def _copy(self, entry: Entry, folder: int, name: str) -> tuple[Mark, str]:
        """Return the mark of what came, and its MD5 sum where that can be compared."""
        sums = [hashlib.sha256()]
        if has_md5(entry):
            sums.append(hashlib.md5(usedforsecurity=False))
        with ExitStack() as stack:
            poured = worthwhile(self.storage, entry)
            source = None if poured else stack.enter_context(self._open(entry))
            flags = _GOING_ON if self.resume else _NEW
            target = stack.enter_context(closing(os.open(name, flags, 0o666, dir_fd=folder)))
            if source is None:
                self._pour(entry, target, sums)
            else:
                self._fill(source, target, sums)
            status = os.fstat(target)
        mark = Mark(status.st_size, status.st_mtime_ns, sums[0].hexdigest())
        return mark, sums[1].hexdigest() if len(sums) > 1 else ""

    def _open(self, entry: Entry) -> BinaryIO:
        try:
            # Of nothing there is nothing to ask for: services answer such a request with an error.
            return self.storage.open(entry.key) if entry.size else io.BytesIO()
        except NotFound as error:
            raise Changed(f"The object {entry.key!r} was removed while it was read.") from error

    def _fill(self, source: BinaryIO, target: int, sums: list[Any]) -> None:
        if self.resume and (here := os.fstat(target).st_size):
            add(target, 0, here, *sums)
            self.tally.add(here)
            source.seek(here)
            os.lseek(target, here, os.SEEK_SET)
        while piece := source.read(CHUNK):
            for digest in sums:
                digest.update(piece)
            write_all(target, piece)
            self.tally.add(len(piece))

    def _pour(self, entry: Entry, target: int, sums: list[Any]) -> None:
        """Fill a file with a large object, at several places at once."""

        def landed(start: int, end: int) -> None:
            add(target, start, end, *sums)

        Pour(cast("Streaming", self.storage), entry, self.tally.add).pour(target, landed)
