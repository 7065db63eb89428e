"""Modules that are loaded already and that a script has not asked for yet.

They are kept out of ``sys.modules`` until it does: a script finds the process as Python leaves
it, and ``import tensorflow`` gives everything back at once, with what its loading had changed
besides.
"""

from __future__ import annotations

import _thread
import os
import sys
from _frozen_importlib import BuiltinImporter, FrozenImporter, ModuleSpec
from _frozen_importlib_external import PathFinder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence
    from types import ModuleType
    from typing import Any

    from danlu_runtime.warm.recording import Recording


class Shelf:
    """Finds modules before all other finders do, and loads them in its way.

    ``forget`` tells what is ours and never given back, ``amended`` what must go through the
    finder of amended modules. ``asked`` is called with each name before it is given back.
    """

    def __init__(
        self, recording: Recording, forget: Callable[[str], bool], amended: Container[str]
    ) -> None:
        self._main = sys.modules["__main__"]
        self._needs = recording.needs
        self._changes = recording.changes
        self._amended = amended
        self.asked: Callable[[str], object] | None = None
        self._lock = _thread.RLock()  # two threads may ask for different modules at a time
        self._kept: dict[str, Any] = {}  # in the order of their loading
        self._all = dict(sys.modules)  # while one is given back, an empty module is in its place
        self._bound: set[str] = set()  # those a package has under their name
        recording.forget()
        for name, module in self._all.items():
            if forget(name):
                self._hide(name, module)
            elif name not in recording.before:
                self._hide(name, module)
                self._kept[name] = module
        lock = self._lock
        os.register_at_fork(
            before=lock.acquire, after_in_child=lock.release, after_in_parent=lock.release
        )

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module = self._kept.get(name)
        spec = None if module is None else self._as_found(name, path, module)
        if spec is not None:
            spec.loader = _Giving(self, spec.loader)  # type: ignore[assignment]
        return spec

    def give(self, module: ModuleType) -> None:
        """Give back the real one in place of ``module``, and all that its loading needed.

        Who does not import, and loads a module by hand or on use, has its content instead.
        """
        name = module.__name__
        if self.asked is not None:
            self.asked(name)
        with self._lock:
            needed = self._needed(name)
            later = [one for one in needed if one in self._amended and one != name]
            self._change(set(needed))
            for one in needed:
                if one in sys.modules and one != name:
                    del self._kept[one]  # the script has put another there, or is loading it
                elif one not in later and one != name:
                    self._put(one)
            if getattr(module.__spec__, "_initializing", False):
                self._put(name)
            else:
                module.__dict__.update(getattr(self._all[name], "__dict__", {}))
        for one in later:
            if sys.modules.get(one, module) is not None:  # None: the script forbids it
                __import__(one)

    def _hide(self, name: str, module: Any) -> None:
        del sys.modules[name]
        package, _, last = name.rpartition(".")
        names = self._names(package)
        if names.get(last) is module:
            del names[last]
            self._bound.add(name)

    def _put(self, name: str) -> None:
        self._kept.pop(name, None)  # another thread may have been here
        module = self._all[name]
        # multiprocessing's second name of the script
        sys.modules[name] = sys.modules["__main__"] if module is self._main else module
        if name in self._bound:
            package, _, last = name.rpartition(".")
            self._names(package).setdefault(last, module)

    def _names(self, package: str) -> dict[str, Any]:
        return getattr(self._all.get(package), "__dict__", {})

    def _change(self, owners: set[str]) -> None:
        for change in self._changes:
            if change.owner in owners:
                change.make()
        self._changes = [change for change in self._changes if change.owner not in owners]

    def _needed(self, name: str) -> Iterable[str]:
        found: set[str] = set()
        queue = [name]
        while queue:
            for one in _with_packages(queue.pop()):
                if one in self._kept and one not in found:
                    found.add(one)
                    queue += self._needs.get(one, ())
        return [one for one in self._kept if one in found]

    def _as_found(self, name: str, path: Sequence[str] | None, module: Any) -> ModuleSpec | None:
        """Return how this very module would be found now; None: the script has one of its own."""
        real = getattr(module, "__spec__", None)
        loader, origin = getattr(real, "loader", None), getattr(real, "origin", None)
        if loader not in (None, BuiltinImporter, FrozenImporter):
            found = PathFinder.find_spec(name, path)
            if found is not None and found.origin == origin:
                return found
            folders = self._names(name.rpartition(".")[0]).get("__path__")
            if not path or not folders or set(path).isdisjoint(folders):
                return None
        return ModuleSpec(name, loader, origin=origin, is_package=True)


class _Giving:
    """Loads a module by taking it from the shelf; in all else it is the real loader."""

    def __init__(self, shelf: Shelf, real: Any) -> None:
        self._shelf = shelf
        self._real = real

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._shelf.give(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def _with_packages(name: str) -> Iterable[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]
