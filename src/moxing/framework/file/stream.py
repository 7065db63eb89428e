"""``mox.file.File``, and the functions that read, write, create, remove and rename files.

All of them accept local paths and paths of a store.
"""

import errno
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from typing import IO, Any, BinaryIO

from danlu.storage import paths
from danlu.storage.paths import Path
from danlu.storage.paths_file import close_at_exit
from moxing.framework.file.copying import copy, copy_parallel
from moxing.framework.file.errors import translated, translating
from moxing.framework.file.where import log, place


def open_object(
    path: Path,
    mode: str = "r",
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> IO[Any]:
    """Open an object in any mode of ``open``; the default encoding of text is UTF-8."""
    kind, update, text = read_mode(mode)
    if kind == "r" and not update:
        binary: BinaryIO = paths.open_read(path)
    else:
        binary = paths.open_edit(path, f"{kind}{'+' if update else ''}b")
    if not text:
        if encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        return binary
    return _text(binary, mode, encoding or "utf-8", errors, newline)


def read_mode(mode: str) -> tuple[str, bool, bool]:
    """Return the kind of a mode (r, w, a or x), whether it has '+', and whether it is text.

    The letters may be in any order.
    """
    kinds = [letter for letter in mode if letter in "rwax"]
    rest = sorted(letter for letter in mode if letter not in "rwax")
    if len(kinds) != 1 or rest not in ([], ["+"], ["b"], ["t"], ["+", "b"], ["+", "t"], ["U"]):
        raise ValueError(
            f"{mode!r} is not a mode of a file. It is one of r, w, a or x, with + or b if need be."
        )
    return kinds[0], "+" in rest, "b" not in rest


def _text(
    binary: BinaryIO, mode: str, encoding: str, errors: str | None, newline: str | None
) -> io.TextIOWrapper:
    stream = io.TextIOWrapper(binary, encoding, errors, newline)
    stream.mode = mode  # type: ignore[misc]  # as open() sets it
    if binary.writable():
        close_at_exit(stream)
    return stream


class File(io.IOBase):
    """A file by its path or URL. What is written reaches the store on ``flush`` and ``close``."""

    def __init__(
        self,
        name: Path,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        **_: object,
    ) -> None:
        kind, update, text = read_mode(mode)
        encoding = encoding or "utf-8" if text else None
        self.mode = mode
        with translating():
            path, remote = place(name)
            self.name = path
            if remote:
                self._stream = open_object(path, mode, encoding, errors, newline)
            else:
                usual = f"{kind}{'+' if update else ''}{'' if text else 'b'}"
                self._stream = open(  # noqa: SIM115
                    path, usual, buffering, encoding, errors, newline
                )

    def read(self, n: int | None = -1) -> Any:
        return self._stream.read(-1 if n is None else n)

    def readline(self, size: int | None = -1) -> Any:
        return self._stream.readline(-1 if size is None else size)

    def readlines(self, sizeint: int | None = -1) -> list[Any]:
        return self._stream.readlines(-1 if sizeint is None else sizeint)

    def write(self, data: Any) -> int:
        return self._stream.write(data)

    def writelines(self, seq: Iterable[Any]) -> None:
        self._stream.writelines(seq)

    def flush(self) -> None:
        if "_stream" in self.__dict__ and not self._stream.closed:
            with translating():
                self._stream.flush()

    def close(self) -> None:
        if "_stream" in self.__dict__:  # absent if opening failed
            with translating():
                self._stream.close()

    def size(self) -> int:
        """Return how many bytes the file has, with what was written and not flushed."""
        binary = getattr(self._stream, "buffer", self._stream)
        if self._stream.writable():
            self._stream.flush()
        at = binary.tell()
        try:
            return binary.seek(0, io.SEEK_END)
        finally:
            binary.seek(at)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def truncate(self, size: int | None = None) -> int:
        return self._stream.truncate(size)

    def seekable(self) -> bool:
        return self._stream.seekable()

    def readable(self) -> bool:
        return self._stream.readable()

    def writable(self) -> bool:
        return self._stream.writable()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def closed(self) -> bool:
        return "_stream" not in self.__dict__ or self._stream.closed

    def next(self) -> Any:
        """Return the next line, as files of Python 2 did."""
        return self.__next__()

    def __next__(self) -> Any:
        # ``next()`` of a text stream would disable ``tell()``.
        line = self._stream.readline()
        if not line:
            raise StopIteration
        return line

    def __iter__(self) -> Iterator[Any]:
        return self

    def __enter__(self) -> "File":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the stream: ``encoding``, ``readinto``, ``buffer``."""
        if name.startswith("__") or "_stream" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._stream, name)

    def __repr__(self) -> str:
        return f"<mox.file.File {self.name!r} mode={self.mode!r}>"


_CHUNK = 1 << 20


@translated
def read(url: Path, client_id: object = None, binary: bool = False) -> Any:
    """Return what a file holds: text, or bytes where ``binary``."""
    with File(url, "rb") as file:
        data = file.read()
    if binary:
        return data
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fsdecode(url)} is not text in UTF-8 ({error.reason} at byte {error.start}): "
            "read it with binary=True."
        ) from error


@translated
def write(url: Path, data: Any, binary: bool = False) -> None:
    """Write a file, replacing what it held."""
    _put(url, data, "wb")


@translated
def append(url: Path, data: Any, binary: bool = False) -> None:
    """Write at the end of a file; one that is not there is made."""
    _put(url, data, "ab")


def _put(url: Path, data: Any, mode: str) -> None:
    content = _content(data)  # convert first: opening the file truncates it
    with File(url, mode) as file:
        file.write(content)


def _content(data: Any) -> "bytes | memoryview":
    if isinstance(data, str):
        return data.encode("utf-8")
    try:
        return memoryview(data).cast("B")
    except TypeError:
        raise TypeError(
            f"A file holds text or bytes, got {type(data).__name__}: write str(…) of it."
        ) from None


@translated
def append_remote(src_url: Path, dst_url: Path) -> None:
    """Write what the first file holds at the end of the second."""
    with File(src_url, "rb") as source, File(dst_url, "ab") as target:
        shutil.copyfileobj(source, target, _CHUNK)


@translated
def make_dirs(url: Path) -> None:
    """Make a directory and those above it; one that is there is left as it is."""
    path, remote = place(url)
    if remote:
        paths.make_directories(path)
    else:
        os.makedirs(path, exist_ok=True)


@translated
def mk_dir(url: Path) -> None:
    """Make a directory in one that is there; one that is there itself is left as it is."""
    path, remote = place(url)
    if not remote:
        if not os.path.isdir(path):
            os.mkdir(path)
        return
    above = path.rstrip("/").rpartition("/")[0]
    # A bucket is not checked: the key may lack permission to list it.
    if above.count("/") > 2 and not paths.is_directory(above):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), above)
    paths.make_directories(path)


@translated
def remove(url: Path, recursive: bool = False) -> None:
    """Remove a file; or, where ``recursive``, a directory with all below it.

    What is of the other kind is left alone, with a warning. A file goes by either call, a
    directory that shares its name stays.
    """
    path, remote = place(url)
    if remote:
        _remove_remote(path, recursive)
    elif os.path.isdir(path) and not os.path.islink(path):
        if recursive:
            shutil.rmtree(path)
        else:
            _warn_directory(path)
    else:
        os.remove(path)


def _remove_remote(path: str, recursive: bool) -> None:
    if not path.endswith("/") and paths.is_file(path):
        paths.remove(path)
    elif not paths.is_directory(path):
        log.warning("mox.file.remove: nothing is at %s.", path)
    elif recursive:
        paths.remove_tree(path)
    else:
        _warn_directory(path)


def _warn_directory(path: str) -> None:
    log.warning("mox.file.remove left the directory %s alone: write recursive=True.", path)


@translated
def rename(src_url: Path, dst_url: Path) -> None:
    """Move a file or a directory, between a store and this machine too.

    The source is removed when all of it has arrived.
    """
    (source, from_store), (target, to_store) = place(src_url), place(dst_url)
    if from_store and to_store:
        paths.rename(source, target)
        return
    if not from_store and not to_store:
        _rename_locally(source, target)
        return
    if paths.is_file(source) if from_store else not os.path.isdir(source):
        copy(source, target)
        remove(source)
    else:
        copy_parallel(source, target)
        remove(source, recursive=True)


def _rename_locally(source: str, target: str) -> None:
    try:
        os.replace(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.move(source, target)
