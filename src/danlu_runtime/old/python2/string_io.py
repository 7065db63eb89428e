"""``StringIO`` and ``cStringIO``, which accepted both text and bytes."""

import io


def StringIO(buffer: str | bytes = "") -> io.StringIO | io.BytesIO:
    """Return an in-memory file of the type of its initial content; an empty one takes text."""
    return io.BytesIO(buffer) if isinstance(buffer, bytes) else io.StringIO(buffer)
