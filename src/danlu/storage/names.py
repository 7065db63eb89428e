"""How a key becomes a path, and back. Pure: no key, however odd, names a path outside.

In a bucket every key can be stored: what a disk cannot hold is written with ``%``.

    %25 %00 %2E     a percent sign, NUL, a leading dot where it would mean something
    %-              an empty segment: ``a//b`` is a/%-/b, ``a/`` is a/%-
    %+rest          the rest of the segment before it, which was too long for one name
    name%o          the object ``name``, where a folder of that name is in its place
"""

import re
from collections.abc import Sequence
from typing import Protocol

OBJECT = "%o"  # after the name of an object whose place a folder has taken
_EMPTY, _MORE = "%-", "%+"
_LONGEST = 200  # of the 255 bytes a name may have: room for the marks above
_LONGEST_KEY = 1024  # as on every S3-like service; keeps paths under PATH_MAX
_TEMPORARY = re.compile(r"\.danlu-tmp-[0-9a-f]{12}")
_ORDINARY = re.compile(r"[^%\0.][^%\0]{0,48}")  # at most 4 bytes each: surely short enough
_ENCODED = re.compile(r"(?:[^%\0/]|%25|%00|%2E)+")


def temporary(token: str) -> str:
    """Return a name for an unfinished file; ``token`` is twelve hexadecimal digits."""
    return f".danlu-tmp-{token}"


def is_temporary(name: str) -> bool:
    return _TEMPORARY.fullmatch(name) is not None


def is_name(step: str) -> bool:
    """Tell whether a disk can hold a file of this name, and it is not one of our temporary ones."""
    if step in ("", ".", "..") or "/" in step or "\0" in step or is_temporary(step):
        return False
    try:
        return len(step.encode("utf-8", "surrogateescape")) <= 255
    except UnicodeEncodeError:
        return False


class Names(Protocol):
    """One way to lay keys out on disk."""

    def split(self, key: str) -> Sequence[str] | None:
        """Return the path of a key, step by step, or None where it cannot be stored.

        Each step passes :func:`is_name`.
        """

    def join(self, folder: str | None, name: str) -> str | None:
        """Return the key of ``name`` in a folder; None for a file that is not ours.

        ``folder`` is what ``join`` returned for it, or None for the root.
        """

    def long(self, name: str) -> bool:
        """Tell whether keys below the folder ``name`` may go on without a slash."""


class PlainNames:
    """Keys are paths as they are: for folders that people look into."""

    def split(self, key: str) -> Sequence[str] | None:
        steps = key.split("/")
        return steps if all(is_name(step) for step in steps) else None

    def join(self, folder: str | None, name: str) -> str | None:
        return name if folder is None else f"{folder}/{name}"

    def long(self, name: str) -> bool:
        return False


class BucketNames:
    """Every key of up to 1,024 bytes of UTF-8 can be stored, and is found again as it was."""

    def split(self, key: str) -> Sequence[str] | None:
        try:
            if not 0 < len(key.encode()) <= _LONGEST_KEY:
                return None
        except UnicodeEncodeError:
            return None
        return [name for segment in key.split("/") for name in _encode(segment)]

    def join(self, folder: str | None, name: str) -> str | None:
        more = name.startswith(_MORE)
        segment = _decode(name[len(_MORE) :] if more else name)
        if segment is None or (more and folder is None):
            return None
        if folder is None:
            return segment
        return folder + segment if more else f"{folder}/{segment}"

    def long(self, name: str) -> bool:
        # A piece ends where the next character did not fit; '%25' and Chinese take three bytes.
        return len(name.encode("utf-8", "surrogateescape")) > _LONGEST - 4


def _encode(segment: str) -> Sequence[str]:
    if _ORDINARY.fullmatch(segment):
        return [segment]
    if segment == "":
        return [_EMPTY]
    pieces = [""]
    used = 0
    for character in segment:
        text = {"%": "%25", "\0": "%00"}.get(character, character)
        width = len(text.encode())
        if used + width > _LONGEST:
            pieces.append(_MORE)
            used = 0
        pieces[-1] += text
        used += width
    if pieces[0] in (".", "..") or is_temporary(pieces[0]):
        pieces[0] = "%2E" + pieces[0][1:]
    return pieces


def _decode(name: str) -> str | None:
    if name == _EMPTY:
        return ""
    if not _ENCODED.fullmatch(name):
        return None
    return name.replace("%2E", ".").replace("%00", "\0").replace("%25", "%")
