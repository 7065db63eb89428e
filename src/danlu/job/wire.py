"""Frozen dataclasses to plain JSON values and back: one rule for every message and record.

An unknown key is passed over, so that a newer writer can be read by an older reader of the same
protocol version; a missing one takes the field's default.
"""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def to_wire(value: Any) -> Any:
    """Return ``value`` as JSON can hold it."""
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
    """Build the dataclass ``kind`` from what :func:`to_wire` returned."""
    hints = _hints(kind)
    fields = {name: _value(hint, data[name]) for name, hint in hints.items() if name in data}
    return kind(**fields)


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    hints = typing.get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind)}


def _value(hint: Any, data: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return None if data is None else _value(next(i for i in inner if i is not type(None)), data)
    if origin is tuple:
        kinds = inner[:1] * len(data) if inner[-1] is Ellipsis else inner
        return tuple(_value(kind, item) for kind, item in zip(kinds, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _value(inner[1], item) for key, item in data.items()}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return from_wire(hint, data)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(data)
    return data
