"""JSON as the files of a task hold it."""

import json
from typing import Any


def dump(data: Any) -> bytes:
    """Return UTF-8 a person can read.

    A file name in another encoding reaches Python as lone surrogates. UTF-8 has no bytes for them;
    ``backslashreplace`` writes just what JSON itself writes.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def load(data: bytes | None) -> dict[str, Any] | None:
    """Return an object, or None for what is not one.

    A machine that lost its power leaves empty files: they are as good as not written.
    """
    try:
        found = json.loads(data or b"null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
