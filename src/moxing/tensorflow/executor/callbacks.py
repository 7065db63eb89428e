"""How the user's functions are called."""

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

_depth = 0


def inside_callback() -> bool:
    """Tell whether a function of the user's is being called by ``mox.run``."""
    return _depth > 0


def call(function: Callable[..., Any], *given: Any) -> Any:
    """Call with as many of ``given``, by position, as the function takes.

    Scripts name the mode ``mode`` or ``run_mode``, take ``**kwargs`` or not, and some take less.
    """
    with _inside():
        return function(*given[: _positions(function, len(given))])


@contextlib.contextmanager
def _inside() -> Iterator[None]:
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def _positions(function: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return most  # built in: it will say itself what it takes
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return most
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(most, sum(each.kind in by_position for each in parameters))
