"""Arguments numpy took before 1.18 and 2.0: iterators to stack, a count that is a float."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from danlu_runtime.old.names import mapped

_STACKS = ("vstack", "hstack", "dstack", "column_stack", "stack")


def accept(np: Any) -> None:
    for name in _STACKS:
        setattr(np, name, _stacking(getattr(np, name), name))
    np.linspace = _counting(np.linspace)


def _stacking(real: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Generators and ``map`` objects are refused since numpy 1.24."""

    @functools.wraps(real)
    def stack(*args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], Iterator):
            mapped(f"np.{name} of an iterator read as np.{name} of a list")
            args = (list(args[0]), *args[1:])
        return real(*args, **options)

    return stack


def _counting(real: Callable[..., Any]) -> Callable[..., Any]:
    """``num`` is a whole number since numpy 1.18; a float was cut off before."""

    @functools.wraps(real)
    def linspace(start: Any, stop: Any, num: Any = 50, *args: Any, **options: Any) -> Any:
        if isinstance(num, float):
            mapped(f"np.linspace(num={num!s}) read as num={int(num)}")
            num = int(num)
        return real(start, stop, num, *args, **options)

    return linspace


class Cast(dict[Any, Callable[[Any], Any]]):
    """``np.cast[kind](values)``, which left numpy with 2.0; any kind is found when it is asked."""

    def __init__(self, np: Any) -> None:
        super().__init__()
        self._np = np

    def __missing__(self, kind: Any) -> Callable[[Any], Any]:
        wanted = self._np.dtype(kind)
        return lambda values: self._np.asarray(values).astype(wanted)
