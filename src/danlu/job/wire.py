"""Converts frozen dataclasses to plain JSON values and back, for every message and record.

Unknown keys are ignored, so that an older reader of the same protocol version can read what a newer
writer wrote. A missing key gets the default of the field.
"""

import dataclasses
import types
import typing
from collections.abc import Callable, Hashable, Mapping
from enum import Enum
from functools import cache, partial
from typing import Any, TypeVar

T = TypeVar("T")
Reader = Callable[[Any], Any]
_PLAIN = frozenset({str, int, float, bool, type(None)})


def to_wire(value: Any) -> Any:
    """Return ``value`` as a JSON value."""
    if type(value) in _PLAIN:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_wire(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): to_wire(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    return value


def from_wire(kind: type[T], data: Mapping[str, Any]) -> T:
    """Build the dataclass ``kind`` from the result of :func:`to_wire`."""
    fields = {}
    for name, read in _readers(typing.cast("Hashable", kind)):
        if name in data:
            fields[name] = data[name] if read is None else read(data[name])
    return kind(**fields)


def learn(kind: type) -> None:
    """Build the readers of ``kind`` now, so that its first use is as fast as the next."""
    _readers(kind)


# Cached, because a server reads the documents of thousands of jobs.
@cache
def _readers(kind: Any) -> tuple[tuple[str, Reader | None], ...]:
    hints = typing.get_type_hints(kind)
    return tuple((f.name, _reader(hints[f.name])) for f in dataclasses.fields(kind))


def _reader(hint: Any) -> Reader | None:
    """Return a function that converts a JSON value to ``hint``, or None if none is needed."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _optional(next(_reader(i) for i in inner if i is not type(None)))
    if origin is tuple:
        return _sequence(inner[0]) if inner[-1] is Ellipsis else _record(inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(_reader(inner[1]))
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        _readers(hint)
        return partial(from_wire, hint)
    return hint if isinstance(hint, type) and issubclass(hint, Enum) else None


def _optional(read: Reader | None) -> Reader | None:
    return read and (lambda data: None if data is None else read(data))


def _sequence(kind: Any) -> Reader:
    read = _reader(kind)
    return tuple if read is None else (lambda data: tuple([read(item) for item in data]))


def _record(kinds: tuple[Any, ...]) -> Reader:
    reads = [_reader(kind) or _same for kind in kinds]
    return lambda data: tuple([read(item) for read, item in zip(reads, data, strict=True)])


def _mapping(read: Reader | None) -> Reader:
    return dict if read is None else (lambda data: {k: read(item) for k, item in data.items()})


def _same(data: Any) -> Any:
    return data
