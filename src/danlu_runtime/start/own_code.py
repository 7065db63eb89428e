"""Recognises the user's own files: those below ``DANLU_CODE``, without installed packages.

Imports only modules that Python has already loaded itself.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType


VARIABLE = "DANLU_CODE"
_INSTALLED = ("site-packages", "dist-packages")
_roots: dict[str, tuple[str, ...]] = {}


def folder() -> str:
    """Return the folder of the user's files, "" if none is set."""
    return os.environ.get(VARIABLE, "")


def relative(path: str) -> str:
    """Return the path of a user's file relative to the folder, "" for any other file."""
    code = folder()
    if not code or path.startswith("<"):
        return ""
    if code not in _roots:
        _roots[code] = tuple(dict.fromkeys((os.path.abspath(code), os.path.realpath(code))))
    whole = os.path.abspath(path)
    for root in _roots[code]:
        if whole.startswith(root.rstrip("/") + "/"):
            inner = whole[len(root.rstrip("/")) + 1 :]
            return "" if is_library(whole, inner) else inner
    return ""


def is_library(path: str, inner: str) -> bool:
    """Return True if a file belongs to Python's library or to an installed package.

    ``inner`` is ``path`` relative to the user's folder, which may contain an environment.
    """
    library = os.path.dirname(os.__file__)
    return path.startswith(library + "/") or any(part in _INSTALLED for part in inner.split("/"))


def contains(path: str) -> bool:
    return bool(relative(path))


_SEARCH = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def import_isolated(name: str) -> ModuleType:
    """Import a module of the runtime or of Python, ignoring user modules of the same name.

    A script may have its own ``token.py`` or ``copy.py``. The folders of the user's code are not
    searched here. A standard module that such a file would hide is removed from sys.modules again.
    The script's ``import token`` then finds the script's file.
    """
    found = sys.modules.get(name)
    if found is not None and not contains(getattr(found, "__file__", None) or ""):
        return found
    hidden = _hidden(name)
    theirs, before = list(sys.path), set(sys.modules)
    sys.path[:] = [_SEARCH, *(entry for entry in theirs if not _is_theirs(entry))]
    try:
        __import__(name)
        return sys.modules[name]
    finally:
        sys.path[:] = theirs
        _forget(set(sys.modules) - before, [entry for entry in theirs if _is_theirs(entry)])
        sys.modules.update(hidden)


def _hidden(name: str) -> dict[str, ModuleType]:
    """Remove the user's module of this name from sys.modules; the caller puts it back."""
    top = name.partition(".")[0]
    names = [one for one in sys.modules if one == top or one.startswith(f"{top}.")]
    if top not in names or not contains(getattr(sys.modules[top], "__file__", "") or ""):
        return {}
    return {one: sys.modules.pop(one) for one in names}


def _is_theirs(entry: str) -> bool:
    return not entry or contains(os.path.join(entry, "x"))


def _forget(loaded: Iterable[str], folders: Iterable[str]) -> None:
    tops = {name.partition(".")[0] for name in loaded}
    shadowed = {
        top
        for top in tops
        for entry in folders
        if os.path.isfile(os.path.join(entry, f"{top}.py"))
        or os.path.isfile(os.path.join(entry, top, "__init__.py"))
    }
    for name in loaded:
        if name.partition(".")[0] in shadowed:
            sys.modules.pop(name, None)
