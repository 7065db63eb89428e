"""Files of Python 2, which took strings in either mode: pickles in text files, csv in binary ones.

Which calls are meant is seen in the tree of a file; what file they got, when they are made.
"""

import ast
import io
from collections.abc import Callable, Iterator
from typing import Any

from danlu_runtime.repair.python2_codecs import as_bytes

# Module -> its functions that take a file, and where in the call that is. ``pickle.load`` itself
# takes files of text, by danlu_runtime.old.stdlib, when the user's own code calls it.
_TAKERS = {
    "pickle": {"dump": 1, "Unpickler": 0, "Pickler": 0},
    "csv": {"reader": 0, "writer": 0, "DictReader": 0, "DictWriter": 0},
}
_TAKERS["cPickle"] = _TAKERS["pickle"]
_NAMED = ("file", "f", "csvfile")


class Takers:
    """The names by which a file calls these functions."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules: dict[str, str] = {}
        self._functions: dict[str, tuple[str, str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                known = (one for one in node.names if one.name in _TAKERS)
                self._modules.update({one.asname or one.name: one.name for one in known})
            elif isinstance(node, ast.ImportFrom) and node.module in _TAKERS and not node.level:
                for one in node.names:
                    self._functions[one.asname or one.name] = (node.module, one.name)

    def place(self, function: ast.expr) -> tuple[str, int] | None:
        """Return what is to be called in its place, and which argument is the file."""
        module, name = "", ""
        if isinstance(function, ast.Name):
            module, name = self._functions.get(function.id, ("", ""))
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module, name = self._modules.get(function.value.id, ""), function.attr
        at = _TAKERS.get(module, {}).get(name)
        if at is None:
            return None
        return "with_texts" if module == "csv" else "with_bytes", at


def with_bytes(function: Callable[..., Any], at: int, args: Any, named: Any) -> Any:
    """Call a function of pickle; it gets the bytes of a file that was opened for text."""
    return function(*_exchanged(args, at, _bytes_of), **_exchanged_named(named, _bytes_of))


def with_texts(function: Callable[..., Any], at: int, args: Any, named: Any) -> Any:
    """Call a function of csv; it gets the text of a file that was opened for bytes."""
    return function(*_exchanged(args, at, _text_of), **_exchanged_named(named, _text_of))


def fitting(file: Any, data: Any) -> tuple[Any, Any]:
    """Return file and data of one kind: a text for bytes is its bytes, and bytes pass a text."""
    if isinstance(data, str) and isinstance(file, io.BufferedIOBase | io.RawIOBase):
        return file, as_bytes(data)
    if isinstance(data, bytes) and isinstance(file, io.TextIOWrapper):
        return _bytes_of(file), data
    return file, data


def _exchanged(args: Any, at: int, exchange: Callable[[Any], Any]) -> list[Any]:
    return [exchange(arg) if number == at else arg for number, arg in enumerate(args)]


def _exchanged_named(named: Any, exchange: Callable[[Any], Any]) -> dict[str, Any]:
    return {name: exchange(arg) if name in _NAMED else arg for name, arg in named.items()}


def _bytes_of(file: Any) -> Any:
    if not isinstance(file, io.TextIOWrapper):
        return file
    if file.writable():
        file.flush()  # what was written as text stands before
    return _Bytes(file)


def _text_of(file: Any) -> Any:
    return _Text(file) if isinstance(file, io.BufferedIOBase | io.RawIOBase) else file


class _Bytes:
    """The bytes of a text file; it keeps that open, which would close when it is forgotten."""

    def __init__(self, file: io.TextIOWrapper) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.buffer.read(size)

    def readline(self) -> bytes:
        return self._file.buffer.readline()

    def write(self, data: Any) -> int:
        return self._file.buffer.write(data)


class _Text:
    """The text of a file of bytes; bytes that are no UTF-8 stay what they are."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> Any:
        return self._file.write(text.encode("utf-8", "surrogateescape"))

    def __iter__(self) -> Iterator[str]:
        return (line.decode("utf-8", "surrogateescape") for line in self._file)
