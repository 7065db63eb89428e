"""The platform's operations over HTTP, from any process: standard library only, and light.

Start reading at ``api.py``.
"""

from typing import TYPE_CHECKING, Any

from danlu.client.api import Client, connect

if TYPE_CHECKING:
    from danlu.job.output import Line, Lines

__all__ = ["Client", "Line", "Lines", "connect"]


def __getattr__(name: str) -> "Any":
    """Who submits a job reads its lines later, if at all."""
    if name not in ("Line", "Lines"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from danlu.job import output

    return getattr(output, name)
