"""``keras.legacy.interfaces``: decorators that let layers take the arguments of Keras 1.

The layers of the runtime take them by themselves; a layer of the script's own keeps its function.
"""

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def generate_legacy_interface(*_: Any, **__: Any) -> Callable[[Function], Function]:
    return _unchanged


def __getattr__(name: str) -> Callable[[Function], Function]:
    if name.startswith("legacy_") and name.endswith("_support"):
        return _unchanged
    raise AttributeError(f"module 'keras.legacy.interfaces' has no attribute {name!r}")


def _unchanged(function: Function) -> Function:
    return function
