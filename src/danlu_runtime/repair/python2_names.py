"""What repaired programs call in the place of Python 2's own operators and built-in functions."""

import functools
import importlib
import operator
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from danlu_runtime import notes
from danlu_runtime.repair import python2_codecs, python2_files

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
with_bytes = python2_files.with_bytes
with_texts = python2_files.with_texts
_WHOLE = ("i", "u", "b")  # kinds of numpy's whole numbers
_told: set[tuple[CodeType, int]] = set()


def divide(left: Any, right: Any) -> Any:
    """Return ``left / right`` as Python 2 did: whole numbers give a whole number."""
    return _divide(left, right, operator.truediv, operator.floordiv)


def divide_in_place(left: Any, right: Any) -> Any:
    """Return what ``left /= right`` left there in Python 2; an array is changed itself."""
    return _divide(left, right, operator.itruediv, operator.ifloordiv)


def _divide(left: Any, right: Any, true: Callable[..., Any], floor: Callable[..., Any]) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return true(left, right)
    if isinstance(left, int) and isinstance(right, int):
        if right and left % right:
            _tell("two whole numbers were divided to a whole number, as in Python 2")
        return left // right
    # Classes of Python 2 define __div__; so do the tensors of TensorFlow to this day.
    for name, one, other in (("__div__", left, right), ("__rdiv__", right, left)):
        method = getattr(type(one), name, None)
        value = NotImplemented if method is None else method(one, other)
        if value is not NotImplemented:
            return value
    if _is_whole(left) and _is_whole(right):
        _tell("arrays of whole numbers were divided to whole numbers, as in Python 2")
        return floor(left, right)
    return true(left, right)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") in _WHOLE


def character(value: Any) -> int:
    """Return ``ord(value)``; of a byte that Python 3 gives as a number, the number itself."""
    if isinstance(value, int) and 0 <= value < 256:
        _tell("ord() of a number: a byte of Python 3 is one already, taken as it is")
        return value
    return ord(value)


def decode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``value.decode(…)``; a text of Python 3 is decoded already, but not from hex."""
    codec = python2_codecs.named(args, kwargs)
    if codec is not None and isinstance(value, str | bytes):
        return python2_codecs.decode(value, codec)
    if isinstance(value, str):
        return value
    return value.decode(*args, **kwargs)


def encode(value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return ``value.encode(…)``; hex and its like made a text of a text."""
    codec = python2_codecs.named(args, kwargs)
    if codec is not None and isinstance(value, str | bytes):
        return python2_codecs.encode(value, codec)
    return value.encode(*args, **kwargs)


def round_half_up(number: Any, digits: int = 0) -> float:
    """Return ``round`` of Python 2: a float, and halves away from zero."""
    if not isinstance(number, int | float):
        return round(number, digits)  # type: ignore[no-any-return]
    rounded = round(float(number), digits)
    if digits == 0 and abs(number - int(number)) == 0.5:
        rounded = float(int(number) + (1 if number > 0 else -1))
    return rounded


def cmp(left: Any, right: Any) -> int:
    return (left > right) - (left < right)


def compared(cls: type) -> type:
    """Compare objects of a class by its ``__cmp__``, where it has no method for a sign itself."""
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
    """Return ``file.write(data)``; a file of Python 2 took any string, in either mode."""
    taker, fit = python2_files.fitting(file, data)
    if taker is not file or fit is not data:
        _tell("text written to a file of bytes, or bytes to one of text, as in Python 2")
    return taker.write(fit)


def execfile(name: str, globals: Any = None, locals: Any = None) -> None:
    """Run a file in the caller's own names, as Python 2 did; it is repaired as a module is."""
    from danlu_runtime import repair

    frame = sys._getframe(1)
    if globals is None:
        globals, locals = frame.f_globals, frame.f_locals
    with open(name, "rb") as source:
        exec(repair.compile_source(source.read(), name), globals, locals or globals)


def has_key(mapping: Any, wanted: Any) -> bool:
    """Return ``wanted in mapping``, unless the object has a has_key of its own."""
    own = getattr(mapping, "has_key", None)
    return bool(own(wanted)) if own is not None else wanted in mapping


def iterate(value: Any, name: str) -> Any:
    """Return ``value.iteritems()``, or ``value.items()`` where only that is there."""
    own = getattr(value, f"iter{name}", None)
    return own() if own is not None else iter(getattr(value, name)())


def _tell(text: str) -> None:
    frame = sys._getframe(1)
    while frame.f_globals is globals():
        frame = frame.f_back  # type: ignore[assignment]
    place = (frame.f_code, frame.f_lineno)
    if place not in _told:  # asked for in the innermost loops
        _told.add(place)
        notes.note("repaired", text, frame.f_code.co_filename, frame.f_lineno)
