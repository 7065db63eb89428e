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


def clean(value: Any) -> Any:
    """Return JSON values whose texts UTF-8 can hold: what a stranger wrote may hold others."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {clean(key): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, list) else value


def load(data: bytes | None) -> dict[str, Any] | None:
    """Return an object, or None for what is not one.

    A machine that lost its power leaves empty files: they are as good as not written.
    """
    try:
        found = json.loads(data or b"null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
