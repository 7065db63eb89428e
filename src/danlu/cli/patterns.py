"""Names with ``*``, ``?`` and ``[…]`` in them: what a shell does for files, for objects too.

``*`` stays within a folder, ``**`` does not.
"""

import glob
import os
import re
from collections.abc import Iterable, Iterator

_MAGIC = re.compile(r"[*?[]")


def is_pattern(text: str) -> bool:
    return _MAGIC.search(text) is not None


def fixed_part(pattern: str) -> str:
    """Return what every name that matches begins with, up to a folder."""
    found = _MAGIC.search(pattern)
    return pattern[: pattern.rfind("/", 0, found.start()) + 1] if found else pattern


def matching(pattern: str, keys: Iterable[str]) -> Iterator[str]:
    """Yield objects, and folders with ``/`` at their end, that match; each once, in their order."""
    wanted = _compiled(pattern.rstrip("/"))
    deep = "**" in pattern
    depth = pattern.rstrip("/").count("/") + 1
    seen: set[str] = set()
    for key in keys:
        steps = key.split("/")
        name = key if deep else "/".join(steps[:depth])
        folder = not deep and len(steps) > depth
        if name not in seen and wanted.fullmatch(name) and (folder or not pattern.endswith("/")):
            seen.add(name)
            yield f"{name}/" if folder else name


def matching_files(pattern: str) -> list[str]:
    """Return paths of this machine that match, as a shell would give them."""
    return sorted(glob.glob(os.path.expanduser(pattern), recursive=True))


def _compiled(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/?|\*|\?|\[!?[^\]/]+\])", pattern)
    return re.compile("".join(map(_translated, pieces)), re.DOTALL)


def _translated(piece: str) -> str:
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if piece in known:
        return known[piece]
    if piece.startswith("[") and piece.endswith("]") and len(piece) > 2:
        negated = piece[1] == "!"
        inner = re.sub(r"([\\\[\]^])", r"\\\1", piece[2 if negated else 1 : -1])
        return f"[{'^/' if negated else ''}{inner}]"
    return re.escape(piece)
