"""Conversions between text and bytes."""

_Text = str | bytes | bytearray | memoryview


def as_bytes(bytes_or_text: _Text, encoding: str = "utf-8") -> bytes:
    return (
        bytes_or_text.encode(encoding) if isinstance(bytes_or_text, str) else bytes(bytes_or_text)
    )


def as_text(bytes_or_text: _Text, encoding: str = "utf-8") -> str:
    return (
        bytes_or_text if isinstance(bytes_or_text, str) else bytes(bytes_or_text).decode(encoding)
    )


def as_str(bytes_or_text: _Text, encoding: str = "utf-8") -> str:
    """Return text: what ``str`` is in Python 3."""
    return as_text(bytes_or_text, encoding)
