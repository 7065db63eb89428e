"""Runs the training scripts of five retired cloud services on today's TensorFlow.

``connect()`` is the door for programs; everything behind it is loaded when it is called.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from danlu.client import connect

__all__ = ["__version__", "connect"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name == "connect":
        from danlu.client import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
