"""File objects for storage objects.

A file opened for writing is a local draft that is stored on flush and on close.
"""

import atexit
import contextlib
import io
import logging
import os
import shutil
import tempfile
import weakref
from typing import IO, Any, BinaryIO, cast

from danlu.storage.api import Storage

log = logging.getLogger(__name__)

_IN_MEMORY = 8 << 20
_CHUNK = 1 << 20


class ReadFile(io.BufferedReader):
    """A file opened for reading, with its path as ``name``."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        raw = stream.detach() if isinstance(stream, io.BufferedReader) else stream
        super().__init__(cast("io.RawIOBase", raw), _CHUNK)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @property
    def mode(self) -> str:
        return "rb"


class ObjectFile(io.BufferedRandom):
    """A file that is stored as one object. ``flush`` stores the whole content so far.

    Like a local file, it is closed when it is garbage-collected and when Python exits.
    """

    def __init__(self, storage: Storage, key: str, name: str, mode: str, *, load: bool) -> None:
        self._draft = _LocalContent(storage, key, append="a" in mode)
        self.readable_too = "+" in mode
        if load:
            self._draft.load()
        super().__init__(cast("io.RawIOBase", self._draft), _CHUNK)
        if "a" in mode:
            self.seek(0, io.SEEK_END)
        self._name, self._mode = name, mode
        close_at_exit(self)

    @property
    def name(self) -> str:
        return self._name

    @property
    def mode(self) -> str:  # type: ignore[override]  # typeshed: an attribute
        return self._mode

    def readable(self) -> bool:
        return self.readable_too

    def read(self, size: int | None = -1, /) -> bytes:
        self._check_readable()
        return super().read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        self._check_readable()
        return super().readline(size)

    def write(self, data: Any, /) -> int:
        self._draft.changed()
        return super().write(data)

    def flush(self) -> None:
        super().flush()
        self._draft.publish()

    def fileno(self) -> int:
        raise io.UnsupportedOperation(f"{self._name} is an object: it has no file descriptor")

    def discard(self) -> None:
        """Close the file without storing further changes."""
        self._draft.discard()
        with contextlib.suppress(ValueError):
            self.close()

    def _check_readable(self) -> None:
        if not self.readable_too:
            raise io.UnsupportedOperation("not readable")


class _LocalContent(io.RawIOBase):
    """The local content of an object file. Only the process that changed it stores it."""

    def __init__(self, storage: Storage, key: str, *, append: bool) -> None:
        super().__init__()
        self._storage, self._key, self._append = storage, key, append
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
        self._changed_by = os.getpid()  # a new file is stored even if nothing is written

    def load(self) -> None:
        with self._storage.open(self._key) as source:
            shutil.copyfileobj(source, self._file, _CHUNK)
        self._file.seek(0)
        self._changed_by = 0

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data: Any) -> int:
        if self._append:
            self._file.seek(0, io.SEEK_END)
        return self._file.write(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._file.seek(offset, whence)
        return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def truncate(self, size: int | None = None) -> int:
        end = self.tell() if size is None else size
        at = self.tell()
        if self.seek(0, io.SEEK_END) < end:  # truncate() of a file in memory does not extend it
            self._file.write(b"\0" * (end - self.tell()))
        self._file.truncate(end)
        self._file.seek(at)
        self.changed()
        return end

    def changed(self) -> None:
        """Mark the content as changed by this process.

        ``write`` does not do this, because the buffer in a forked process calls ``write`` with
        data of its parent.
        """
        self._changed_by = os.getpid()

    def publish(self) -> None:
        if self.closed or self._changed_by != os.getpid():
            return
        at = self._file.tell()
        try:
            self._file.seek(0)
            self._storage.write(self._key, cast("BinaryIO", self._file))
        finally:
            self._file.seek(at)
        self._changed_by = 0

    def discard(self) -> None:
        self._changed_by = 0

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


_open: "weakref.WeakSet[IO[Any]]" = weakref.WeakSet()


def close_at_exit(stream: Any) -> None:
    """Close a stream when Python exits, if it is still open, to store its buffered data."""
    _open.add(stream)


@atexit.register
def _close_all() -> None:
    # Text streams first, because they flush into an underlying binary file.
    for stream in sorted(_open, key=lambda stream: not isinstance(stream, io.TextIOBase)):
        try:
            stream.close()
        except Exception as error:
            log.error("not stored at the end name=%r error=%s", getattr(stream, "name", ""), error)
