"""Arguments that numpy accepted before 1.18 and 2.0: iterators to stack, a float count."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from danlu.messages import get_message
from danlu_runtime.old.names import mapped, read_as

_STACKS = ("vstack", "hstack", "dstack", "column_stack", "stack")


def accept(np: Any) -> None:
    for name in _STACKS:
        setattr(np, name, _stacking(getattr(np, name), name))
    np.linspace = _counting(np.linspace)


def _stacking(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Accept generators and ``map`` objects, which numpy rejects since 1.24."""

    @functools.wraps(real)
    def stack(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Iterator):
            mapped(get_message("old.numpy_iterator", name=name))
            args = (list(args[0]), *args[1:])
        return real(*args, **options)

    return stack


def _counting(real: Callable[..., Any]) -> Callable[..., Any]:
    """Accept a float ``num`` and truncate it; numpy requires an integer since 1.18."""

    @functools.wraps(real)
    def linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **options: Any) -> Any:
        if isinstance(num, float):
            mapped(read_as(f"np.linspace(num={num!s})", f"num={int(num)}"))
            num = int(num)
        return real(start, stop, num, *args, **options)

    return linspace


class Cast(dict[Any, Callable[[Any], Any]]):
    """``np.cast[kind](values)``, removed in numpy 2.0; entries are created on use."""

    def __init__(self, np: Any) -> None:
        super().__init__()
        self._np = np

    def __missing__(self, kind: Any) -> Callable[[Any], Any]:
        wanted = self._np.dtype(kind)
        return lambda values: self._np.asarray(values).astype(wanted)
