"""Codecs of Python 2 that made a string of a string: hex, base64 and their like.

A string of bytes of Python 2 is a text of Latin-1 in a repaired file: each character is a byte.
"""

import codecs
from typing import Any

_BYTES = {
    **{"hex": "hex_codec", "hex_codec": "hex_codec", "base64": "base64_codec"},
    **{"base64_codec": "base64_codec", "zlib": "zlib_codec", "zlib_codec": "zlib_codec"},
    **{"zip": "zlib_codec", "bz2": "bz2_codec", "bz2_codec": "bz2_codec"},
    **{"rot13": "rot_13", "rot_13": "rot_13"},
    **{"string_escape": "string_escape"},
}


def is_bytes_codec(name: Any) -> bool:
    return isinstance(name, str) and _plain(name) in _BYTES


def named(args: Any, kwargs: Any) -> str | None:
    """Return which of these codecs a call of ``decode`` or ``encode`` names."""
    name = args[0] if args else kwargs.get("encoding")
    return _BYTES[_plain(name)] if is_bytes_codec(name) else None


def decode(value: str | bytes, codec: str) -> str:
    """Return what Python 2 gave, as a text."""
    if codec == "rot_13":
        return codecs.decode(_text(value), codec)
    if codec == "string_escape":
        # The inside function of Python 3 that reads escapes of bytes; \u means nothing in these.
        return codecs.escape_decode(as_bytes(value))[0].decode("latin-1")  # type: ignore[attr-defined, no-any-return]
    return codecs.decode(as_bytes(value), codec).decode("latin-1")  # type: ignore[no-any-return, call-overload]


def encode(value: str | bytes, codec: str) -> str:
    """Return what Python 2 gave, as a text."""
    if codec == "rot_13":
        return codecs.encode(_text(value), codec)
    if codec == "string_escape":
        return codecs.escape_encode(as_bytes(value))[0].decode("latin-1")  # type: ignore[attr-defined, no-any-return]
    return codecs.encode(as_bytes(value), codec).decode("latin-1")  # type: ignore[no-any-return, call-overload]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(" ", "_")


def as_bytes(value: str | bytes) -> bytes:
    """Return the bytes Python 2 had; a text beyond Latin-1 was written in a source of UTF-8."""
    if isinstance(value, bytes):
        return value
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode("utf-8")


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")
