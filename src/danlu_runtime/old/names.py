"""Restores removed names of a module, created when a script uses them."""

from __future__ import annotations

import sys

from danlu.messages import get_message
from danlu_runtime.reports import notes
from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType, ModuleType
    from typing import Any

PUT_BACK: dict[str, set[str]] = {}  # restored names by module, for checks before a run


def put_back(
    module: ModuleType, names: Mapping[str, Callable[[], Any]], *, own_only: bool = False
) -> None:
    """Make ``module.name`` return the result of its function if the module has no such name.

    With ``own_only`` this applies to the user's files alone, because libraries use Python's old
    names to detect its version.
    """
    before = module.__dict__.get("__getattr__")
    PUT_BACK.setdefault(module.__name__, set()).update(names)

    def find(name: str) -> Any:
        make = names.get(name)
        frame = asking_frame()
        if make is None or (own_only and not own_code.contains(frame.f_code.co_filename)):
            if before is not None:
                return before(name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        value = make()
        note_use(f"{module.__name__}.{name}", value)
        if not own_only:
            setattr(module, name, value)
        return value

    module.__dict__["__getattr__"] = find


def asking_frame() -> FrameType:
    """Return the frame that uses a name: neither the runtime's nor Python's importer."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen importlib") and not _is_ours(frame):
            return frame
        frame = frame.f_back
    return sys._getframe(1)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("danlu_runtime.old")


def called_by_own_code() -> bool:
    """Return True if the calling function was called directly from a user's file."""
    return own_code.contains(asking_frame().f_code.co_filename)


def note_use(name: str, value: Any, kind: str = "mapped") -> None:
    """Write a note about a name that was found elsewhere, with the user's line."""
    file, line = notes.caller()
    if file:
        notes.note(kind, read_as(name, _shown(value)), file, line)


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if name is None:
        return repr(value)[:60]
    module = getattr(value, "__module__", None) or ""
    plain = module in ("", "builtins") or module.startswith("danlu_runtime")
    return str(name) if plain else f"{module}.{name}"


def mapped(text: str) -> None:
    """Write a note about something interpreted differently, with the user's line."""
    file, line = notes.caller()
    if file:
        notes.note("mapped", text, file, line)


def read_as(old: str, new: str) -> str:
    """Return the text of a note that ``old`` was read as ``new``."""
    return get_message("repair.read_as", old=old, new=new)


def refusing(name: str, key: str) -> Callable[[], Any]:
    """Return a factory of a function that raises Unsupported with the message ``key``."""

    def make() -> Any:
        def gone(*args: Any, **kwargs: Any) -> Any:
            from danlu.errors import Unsupported

            notes.note("gone", get_message(key), *notes.caller())
            raise Unsupported.from_key(key)

        gone.__name__ = gone.__qualname__ = name
        return gone

    return make
