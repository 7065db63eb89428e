"""Replacements for Python 2 operators and built-in functions, called by repaired programs."""

import ast
import codecs
import functools
import importlib
import io
import operator
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any, Literal, TextIO

from danlu.messages import get_message
from danlu_runtime.reports import notes

Codec = Literal["base64_codec", "bz2_codec", "hex_codec", "rot_13", "string_escape", "zlib_codec"]
_BYTES: dict[str, Codec] = {
    "hex": "hex_codec",
    "hex_codec": "hex_codec",
    "base64": "base64_codec",
    "base64_codec": "base64_codec",
    "zlib": "zlib_codec",
    "zlib_codec": "zlib_codec",
    "zip": "zlib_codec",
    "bz2": "bz2_codec",
    "bz2_codec": "bz2_codec",
    "rot13": "rot_13",
    "rot_13": "rot_13",
    "string_escape": "string_escape",
}


def is_bytes_codec(name: Any) -> bool:
    return isinstance(name, str) and _plain(name) in _BYTES


def named(args: Any, kwargs: Any) -> Codec | None:
    """Return the bytes codec that a call of ``decode`` or ``encode`` names, None if none."""
    name = args[0] if args else kwargs.get("encoding")
    return _BYTES[_plain(name)] if is_bytes_codec(name) else None


def decode_codec(value: str | bytes, codec: Codec) -> str:
    """Return the result of Python 2 as a ``str``.

    A Python 2 byte string is Latin-1 text in a repaired file, with one character per byte.
    """
    if codec == "rot_13":
        return codecs.decode(_text(value), codec)
    if codec == "string_escape":
        # Python 3's internal function for escapes in bytes; \u has no meaning there.
        return codecs.escape_decode(as_bytes(value))[0].decode("latin-1")
    return codecs.decode(as_bytes(value), codec).decode("latin-1")


def encode_codec(value: str | bytes, codec: Codec) -> str:
    """Return the result of Python 2 as a ``str``."""
    if codec == "rot_13":
        return codecs.encode(_text(value), codec)
    if codec == "string_escape":
        return codecs.escape_encode(as_bytes(value))[0].decode("latin-1")
    return codecs.encode(as_bytes(value), codec).decode("latin-1")


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def as_bytes(value: str | bytes) -> bytes:
    """Return the bytes of Python 2; text beyond Latin-1 is assumed to come from UTF-8 source."""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


# Module -> its functions that take a file, and the position of that argument.
# danlu_runtime.old.stdlib makes ``pickle.load`` accept text files in calls from user code.
_TAKERS = {
    "pickle": {"dump": 1, "Unpickler": 0, "Pickler": 0},
    "csv": {"reader": 0, "writer": 0, "DictReader": 0, "DictWriter": 0},
}
_TAKERS["cPickle"] = _TAKERS["pickle"]
_NAMED = ("file", "f", "csvfile")


class Takers:
    """The names by which a source file calls functions that take a file."""

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
        """Return the name of the replacement function and the position of the file argument."""
        module, name = "", ""
        if isinstance(function, ast.Name):
            module, name = self._functions.get(function.id, ("", ""))
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            module, name = self._modules.get(function.value.id, ""), function.attr
        at = _TAKERS.get(module, {}).get(name)
        if at is None:
            return None
        return "with_texts" if module == "csv" else "with_bytes", at


def files_with_bytes(function: Callable[..., Any], at: int, args: Any, named: Any) -> Any:
    """Call a pickle function with the binary buffer of a file opened in text mode."""
    return function(*_exchanged(args, at, _bytes_of), **_exchanged_named(named, _bytes_of))


def files_with_texts(function: Callable[..., Any], at: int, args: Any, named: Any) -> Any:
    """Call a csv function with the text of a file opened in binary mode."""
    return function(*_exchanged(args, at, _text_of), **_exchanged_named(named, _text_of))


def fitting(file: Any, data: Any) -> tuple[Any, Any]:
    """Return file and data of the same kind, both binary or both text.

    Text for a binary file is encoded. Bytes for a text file are written to its buffer.
    """
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
        file.flush()  # text written before must come first
    return _Bytes(file)


def _text_of(file: Any) -> Any:
    return _Text(file) if isinstance(file, io.BufferedIOBase | io.RawIOBase) else file


class _Bytes:
    """The bytes of a text file; keeps it open, because an unreferenced file would be closed."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.buffer.read(size)

    def readline(self) -> bytes:
        return self._file.buffer.readline()

    def write(self, data: Any) -> int:
        return self._file.buffer.write(data)


class _Text:
    """The text of a binary file; bytes that are not UTF-8 are preserved."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> Any:
        return self._file.write(text.encode("utf-8", "surrogateescape"))

    def __iter__(self) -> Iterator[str]:
        return (line.decode("utf-8", "surrogateescape") for line in self._file)


unicode = str
basestring = str
long = int
unichr = chr
xrange = range
raw_input = input
reduce = functools.reduce
reload = importlib.reload
intern = sys.intern
StandardError = Exception
key = functools.cmp_to_key
with_bytes = files_with_bytes
with_texts = files_with_texts
_WHOLE = ("i", "u", "b")  # NumPy's integer kinds
_noted: set[tuple[CodeType, int]] = set()


def divide(left: Any, right: Any) -> Any:
    """Return ``left / right`` as in Python 2: integers give an integer."""
    return _divide(left, right, operator.truediv, operator.floordiv)


def divide_in_place(left: Any, right: Any) -> Any:
    """Return the result of ``left /= right`` in Python 2; an array is changed in place."""
    return _divide(left, right, operator.itruediv, operator.ifloordiv)


def _divide(left: Any, right: Any, true: Callable[..., Any], floor: Callable[..., Any]) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return true(left, right)
    if isinstance(left, int) and isinstance(right, int):
        if right and left % right:
            _note(get_message("python2.divided"))
        return left // right
    # Python 2 classes define __div__. TensorFlow's tensors still do.
    for name, one, other in (("__div__", left, right), ("__rdiv__", right, left)):
        method = getattr(type(one), name, None)
        value = NotImplemented if method is None else method(one, other)
        if value is not NotImplemented:
            return value
    if _is_whole(left) and _is_whole(right):
        _note(get_message("python2.divided_arrays"))
        return floor(left, right)
    return true(left, right)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") in _WHOLE


def character(value: Any) -> int:
    """Return ``ord(value)``; an integer, as Python 3 gives for a byte, is returned unchanged."""
    if isinstance(value, int) and 0 <= value < 256:
        _note(get_message("python2.ord"))
        return value
    return ord(value)


def decode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``value.decode(…)``; a ``str`` is already decoded, except for codecs like hex."""
    codec = named(args, kwargs)
    if codec is not None and isinstance(value, str | bytes):
        return decode_codec(value, codec)
    if isinstance(value, str):
        return value
    return value.decode(*args, **kwargs)


def encode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``value.encode(…)``; codecs like hex return a ``str``."""
    codec = named(args, kwargs)
    if codec is not None and isinstance(value, str | bytes):
        return encode_codec(value, codec)
    return value.encode(*args, **kwargs)


def round_half_up(number: Any, digits: int = 0) -> float:
    """Return ``round`` of Python 2: a float, with halves rounded away from zero."""
    if not isinstance(number, int | float):
        return round(number, digits)
    rounded = round(float(number), digits)
    if digits == 0 and abs(number - int(number)) == 0.5:
        rounded = float(int(number) + (1 if number > 0 else -1))
    return rounded


def cmp(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


def compared(cls: type) -> type:
    """Add comparison methods based on ``__cmp__`` to a class that does not define them itself."""
    for name in ("lt", "le", "eq", "ne", "gt", "ge"):
        method = f"__{name}__"
        if getattr(cls, method, None) is getattr(object, method):
            setattr(cls, method, _by_cmp(getattr(operator, name)))
    return cls


def _by_cmp(sign: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        order = self.__cmp__(other)
        return NotImplemented if order is NotImplemented else sign(order, 0)

    return compare


def apply(function: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
    return function(*args, **(kwargs or {}))


def file(name: Any, mode: str = "r", buffering: int = -1) -> Any:
    return open(name, mode, buffering)


def write(file: Any, data: Any) -> Any:
    """Return ``file.write(data)``; a Python 2 file accepted any string in either mode."""
    taker, fit = fitting(file, data)
    if taker is not file or fit is not data:
        _note(get_message("python2.written"))
    return taker.write(fit)


def execfile(name: str, globals: Any = None, locals: Any = None) -> None:
    """Run a file in the caller's namespace, as Python 2 did; it is repaired like a module."""
    from danlu_runtime import repair

    frame = sys._getframe(1)
    if globals is None:
        globals, locals = frame.f_globals, frame.f_locals
    with open(name, "rb") as source:
        exec(repair.compile_source(source.read(), name), globals, locals or globals)


def has_key(mapping: Any, wanted: Any) -> bool:
    """Return ``wanted in mapping``, unless the object has its own ``has_key``."""
    own = getattr(mapping, "has_key", None)
    return bool(own(wanted)) if own is not None else wanted in mapping


def iterate(value: Any, name: str) -> Any:
    """Return ``value.iteritems()``, or ``value.items()`` if only that exists."""
    own = getattr(value, f"iter{name}", None)
    return own() if own is not None else iter(getattr(value, name)())


def _note(text: str) -> None:
    frame = sys._getframe(1)
    while frame.f_globals is globals() and frame.f_back is not None:
        frame = frame.f_back
    place = (frame.f_code, frame.f_lineno)
    if place not in _noted:  # called in innermost loops
        _noted.add(place)
        notes.note("repaired", text, frame.f_code.co_filename, frame.f_lineno)
