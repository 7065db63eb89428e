"""Puts names back into a module, found when a script asks for them and not before."""

from __future__ import annotations

import sys

from danlu_runtime import notes, own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType, ModuleType
    from typing import Any

PUT_BACK: dict[str, set[str]] = {}  # names by module, for who wants to know beforehand


def put_back(
    module: ModuleType, names: Mapping[str, Callable[[], Any]], *, own_only: bool = False
) -> None:
    """Let ``module.name`` give what its function returns, where the module has no such name.

    ``own_only``: for the user's files alone. Libraries ask Python itself for its old names to
    find out which Python they run on.
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
        told(f"{module.__name__}.{name}", value)
        if not own_only:
            setattr(module, name, value)
        return value

    module.__getattr__ = find  # type: ignore[method-assign]


def asking_frame() -> FrameType:
    """Return the frame that asked: neither ours nor that of Python's importer."""
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
    """Tell whether the function that asks was called from a file of the user's, directly."""
    return own_code.contains(asking_frame().f_code.co_filename)


def told(name: str, value: Any, kind: str = "mapped") -> None:
    """Note a name that was found elsewhere, at the user's line."""
    file, line = notes.caller()
    if file:
        notes.note(kind, f"{name} read as {_shown(value)}", file, line)


def _shown(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if name is None:
        return repr(value)[:60]
    module = getattr(value, "__module__", None) or ""
    plain = module in ("", "builtins") or module.startswith("danlu_runtime")
    return str(name) if plain else f"{module}.{name}"


def mapped(text: str) -> None:
    """Note something that was read otherwise, at the user's line."""
    file, line = notes.caller()
    if file:
        notes.note("mapped", text, file, line)


def refusing(name: str, sentence: str) -> Callable[[], Any]:
    """Return a maker of a function that says why it is gone when it is called."""

    def make() -> Any:
        def gone(*args: Any, **kwargs: Any) -> Any:
            from danlu.errors import Unsupported

            notes.note("gone", sentence, *notes.caller())
            raise Unsupported(sentence)

        gone.__name__ = gone.__qualname__ = name
        return gone

    return make
