"""``shift('os', 'mox')``: Python's own functions take paths of a store too.

A path of this machine goes to the very function it went to before, with the arguments it had.
"""

import builtins
import glob
import io
import os
import shutil
from collections.abc import Callable
from types import ModuleType
from typing import Any

from danlu.storage import paths
from moxing.framework.file import shift_calls as calls
from moxing.framework.file.errors import translating

_ONE: tuple[tuple[ModuleType, dict[str, Callable[..., Any]]], ...] = (
    (builtins, {"open": calls.open_}),
    (io, {"open": calls.open_}),
    (
        os,
        {
            "listdir": calls.listdir,
            "scandir": calls.Scan,
            "makedirs": calls.makedirs,
            "mkdir": calls.mkdir,
            "remove": calls.remove,
            "unlink": calls.remove,
            "rmdir": calls.rmdir,
            "stat": calls.stat,
            "lstat": calls.stat,
            "access": calls.access,
            "walk": calls.walk_,
        },
    ),
    (
        os.path,
        {
            "exists": paths.exists,
            "lexists": paths.exists,
            "isdir": paths.is_directory,
            "isfile": paths.is_file,
            "islink": calls.islink,
            "getsize": calls.getsize,
            "getmtime": calls.getmtime,
            "getatime": calls.getmtime,
            "getctime": calls.getmtime,
            "abspath": calls.abspath,
            "realpath": calls.abspath,
        },
    ),
    (glob, {"glob": calls.glob, "iglob": calls.iglob}),
    (shutil, {"rmtree": calls.rmtree}),
)
_TWO: tuple[tuple[ModuleType, dict[str, Callable[..., Any]]], ...] = (
    (os, {"rename": calls.rename_, "replace": calls.rename_}),
    (
        shutil,
        {
            "copyfile": calls.copyfile,
            "copy": calls.copy_,
            "copy2": calls.copy_,
            "copytree": calls.copytree,
            "move": calls.move,
        },
    ),
)
_SUPPORTS = ("supports_dir_fd", "supports_effective_ids", "supports_fd", "supports_follow_symlinks")


class Shifted:
    """A function of Python that knows paths of a store.

    Not a Python function: it is kept in classes and must not become a method there, as the
    function in C before it did not (``pathlib`` of Python 3.10 keeps ``os.stat`` so).
    """

    def __init__(
        self, module: ModuleType, name: str, original: Any, remote: Callable[..., Any], looks: int
    ) -> None:
        self._original, self._remote, self._looks = original, remote, looks
        self.on = True
        self.__name__ = self.__qualname__ = name
        self.__module__ = module.__name__
        self.__doc__ = original.__doc__
        self.__wrapped__ = original  # so that inspect tells the arguments it had

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.on and (
            any(map(paths.is_remote, args[: self._looks]))
            or (kwargs and any(map(paths.is_remote, kwargs.values())))
        ):
            with translating():
                return self._remote(*args, **kwargs)
        return self._original(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.__name__  # pickled by its name, as functions are

    def __repr__(self) -> str:
        return f"<{self.__module__}.{self.__name__}, which takes paths of a store>"


_shifted: list[tuple[ModuleType, Shifted]] = []


def shift(source: str, target: str) -> None:
    """Let open, os, os.path, glob and shutil take paths of a store: ``shift('os', 'mox')``.

    ``shift('mox', 'os')`` takes it back. Once more changes nothing. Processes that
    ``multiprocessing`` starts are shifted too.
    """
    if (source, target) == ("os", "mox"):
        if not _shifted:
            _shift()
    elif (source, target) == ("mox", "os"):
        _shift_back()
    else:
        raise ValueError(
            f"mox.file.shift({source!r}, {target!r}) is not known. "
            "Write shift('os', 'mox'), or shift('mox', 'os') to take it back."
        )


def _shift() -> None:
    for looks, table in ((1, _ONE), (2, _TWO)):
        for module, functions in table:
            for name, remote in functions.items():
                original = getattr(module, name)
                call = Shifted(module, name, original, remote, looks)
                setattr(module, name, call)
                _shifted.append((module, call))
                for abilities in _abilities(original):
                    abilities.add(call)
    _teach_children()


def _shift_back() -> None:
    while _shifted:
        module, call = _shifted.pop()
        call.on = False  # somebody may have kept it
        if getattr(module, call.__name__) is call:
            setattr(module, call.__name__, call.__wrapped__)
        for abilities in _abilities(call):
            abilities.discard(call)


def _abilities(function: Any) -> list[set[Any]]:
    """Return the sets of ``os`` that say what a function can do."""
    return [found for name in _SUPPORTS if function in (found := getattr(os, name))]


class _Shift:
    """Shifts the process that unpickles it."""

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str, str]]:
        return shift, ("os", "mox")


def _teach_children() -> None:
    """Let processes that ``multiprocessing`` spawns begin shifted; forked ones are by nature."""
    from multiprocessing import spawn

    prepare = spawn.get_preparation_data
    if getattr(prepare, "shifts", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = prepare(name)
        return {**data, "moxing": _Shift()} if _shifted else data

    get_preparation_data.shifts = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
