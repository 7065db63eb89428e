"""Runs the training scripts of five retired cloud services on today's TensorFlow.

``connect()`` is the door for programs; everything behind it is loaded when it is called.
"""

# Not from typing: every Python of a task imports this first, and a script may have a module of
# that name, or of one that typing needs.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from danlu.client import connect

__all__ = ["__version__", "connect"]
__version__ = "0.1.0"


def __getattr__(name: str) -> "Any":
    if name == "connect":
        from danlu.client import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
