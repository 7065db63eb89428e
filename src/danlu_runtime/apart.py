"""Imports what the runtime itself needs, past the user's own files and without a trace.

A script may have a ``token.py`` or a ``copy.py`` of its own. So the folders of the user's code are
not searched here, and a module of Python's own that such a file would hide is forgotten again:
the script's ``import token`` must find the script's file, as if the runtime were not there.
"""

from __future__ import annotations

import os
import sys

from danlu_runtime import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

_SEARCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def load(name: str) -> ModuleType:
    """Import a module of the runtime or of Python's own."""
    found = sys.modules.get(name)
    if found is not None and not own_code.contains(getattr(found, "__file__", None) or ""):
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
    """Take the user's module of this name out of the way; it is put back."""
    top = name.partition(".")[0]
    names = [one for one in sys.modules if one == top or one.startswith(f"{top}.")]
    if top not in names or not own_code.contains(getattr(sys.modules[top], "__file__", "") or ""):
        return {}
    return {one: sys.modules.pop(one) for one in names}


def _is_theirs(entry: str) -> bool:
    return not entry or own_code.contains(os.path.join(entry, "x"))


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
