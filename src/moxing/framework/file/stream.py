"""Files of this machine and of a store, opened alike."""

import io
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from danlu.storage import paths
from danlu.storage.paths import Path
from danlu.storage.paths_file import close_at_exit
from moxing.framework.file.errors import translating
from moxing.framework.file.where import place


def open_object(
    path: Path,
    mode: str = "r",
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
) -> IO[Any]:
    """Open an object in any mode of ``open``; text is UTF-8 where nothing else is said."""
    kind, update, text = read_mode(mode)
    if kind == "r" and not update:
        binary: Any = paths.open_read(path)
    else:
        binary = paths.open_edit(path, f"{kind}{'+' if update else ''}b")
    if not text:
        if encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        return cast("IO[Any]", binary)
    return _text(binary, mode, encoding or "utf-8", errors, newline)


def read_mode(mode: str) -> tuple[str, bool, bool]:
    """Return r, w, a or x, whether there is a '+', and whether it is text; in any order."""
    kinds = [letter for letter in mode if letter in "rwax"]
    rest = sorted(letter for letter in mode if letter not in "rwax")
    if len(kinds) != 1 or rest not in ([], ["+"], ["b"], ["t"], ["+", "b"], ["+", "t"], ["U"]):
        raise ValueError(
            f"{mode!r} is not a mode of a file. It is one of r, w, a or x, with + or b if need be."
        )
    return kinds[0], "+" in rest, "b" not in rest


def _text(
    binary: Any, mode: str, encoding: str, errors: str | None, newline: str | None
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
        **_: Any,
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
        if "_stream" in self.__dict__:  # not where opening failed
            with translating():
                self._stream.close()

    def size(self) -> int:
        """Return how many bytes the file has, with what was written and not flushed."""
        binary = getattr(self._stream, "buffer", self._stream)
        if self._stream.writable():
            self._stream.flush()
        at = binary.tell()
        try:
            return cast("int", binary.seek(0, io.SEEK_END))
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
        # Not by next() of the stream: text then refuses to tell where it is.
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
        """Give what libraries ask of a stream besides: ``encoding``, ``readinto``, ``buffer``."""
        if name.startswith("__") or "_stream" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._stream, name)

    def __repr__(self) -> str:
        return f"<mox.file.File {self.name!r} mode={self.mode!r}>"
