"""Modules that are loaded already and that a script has not asked for yet.

They are kept out of ``sys.modules`` until it does: a script finds the process as Python leaves
it, and ``import tensorflow`` gives everything back at once, with what its loading had changed
besides.
"""

from __future__ import annotations

import _warnings
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
    finder of amended modules.
    """

    def __init__(
        self, recording: Recording, forget: Callable[[str], bool], amended: Container[str]
    ) -> None:
        self._main = sys.modules["__main__"]
        self._needs = recording.needs
        self._changes = recording.changes
        self._amended = amended
        self._kept: dict[str, Any] = {}  # in the order of their loading
        self._all = dict(sys.modules)  # while one is given back, an empty module is in its place
        self._bound: set[str] = set()  # those a package has under their name
        for name, module in self._all.items():
            if forget(name):
                self._hide(name, module)
            elif name not in recording.before:
                self._hide(name, module)
                self._kept[name] = module
        _warnings.filters[:] = recording.filters
        _warnings._filters_mutated()
        sys.meta_path[:] = recording.finders

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self._kept or not self._is_the_one(name):
            return None
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Give back the real one, and all that its loading needed."""
        name = module.__name__
        needed = self._needed(name)
        later = [one for one in needed if one in self._amended and one != name]
        self._change(set(needed))
        for one in needed:
            if one not in later:
                self._give(one)
        for one in later:
            if one not in sys.modules:
                __import__(one)

    def _hide(self, name: str, module: Any) -> None:
        del sys.modules[name]
        package, _, last = name.rpartition(".")
        names = self._names(package)
        if names.get(last) is module:
            del names[last]
            self._bound.add(name)

    def _give(self, name: str) -> None:
        module = self._kept.pop(name)
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

    def _is_the_one(self, name: str) -> bool:
        """Tell whether this very module would be found now: a script may have one of its own."""
        spec = getattr(self._kept[name], "__spec__", None)
        if "." in name or spec is None or spec.loader in (BuiltinImporter, FrozenImporter):
            return True
        found = PathFinder.find_spec(name)
        return found is not None and found.origin == spec.origin


def _with_packages(name: str) -> Iterable[str]:
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]
