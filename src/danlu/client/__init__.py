"""The operations of the platform over HTTP, with the standard library only.

``api``: the class Client and ``connect``; start reading here.
``calls``: sends a request again until it is answered.
``connection``: HTTP over a unix socket or TCP.
``background``: starts, replaces and stops the server of this machine.
``bundle``: selects the files of a code directory and packs them.
"""

from typing import TYPE_CHECKING, Any

from danlu.client.api import Client, connect

if TYPE_CHECKING:
    from danlu.job.status import Line, Lines

__all__ = ["Client", "Line", "Lines", "connect"]


def __getattr__(name: str) -> "Any":
    """Import the line types on use: many clients never read the log of a job."""
    if name not in ("Line", "Lines"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from danlu.job import status

    return getattr(status, name)
