"""``StringIO`` and ``cStringIO``: one class that took text and bytes alike."""

import io


def StringIO(buffer: str | bytes = "") -> io.StringIO | io.BytesIO:
    """Return a file in memory of the kind of its first content; empty ones take text."""
    return io.BytesIO(buffer) if isinstance(buffer, bytes) else io.StringIO(buffer)
