"""Which files are the user's own: those below ``DANLU_CODE``, and no installed package among them.

Imports nothing that Python has not loaded by itself.
"""

import os

VARIABLE = "DANLU_CODE"
_INSTALLED = ("site-packages", "dist-packages")
_roots: dict[str, tuple[str, ...]] = {}


def folder() -> str:
    """Return the folder of the user's files, "" where none is set."""
    return os.environ.get(VARIABLE, "")


def relative(path: str) -> str:
    """Return a file of the user's relative to the folder, "" for any other file."""
    code = folder()
    if not code or path.startswith("<"):
        return ""
    if code not in _roots:
        _roots[code] = tuple(dict.fromkeys((os.path.abspath(code), os.path.realpath(code))))
    whole = os.path.abspath(path)
    for root in _roots[code]:
        if whole.startswith(root.rstrip("/") + "/"):
            inner = whole[len(root.rstrip("/")) + 1 :]
            return "" if any(part in _INSTALLED for part in inner.split("/")) else inner
    return ""


def contains(path: str) -> bool:
    return bool(relative(path))
