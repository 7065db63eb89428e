"""An import finder that changes modules when a script imports them.

It does three things. It patches a module after it has been loaded (``after``). It serves a removed
name by a module of the runtime (``served``). It passes every name below ``tensorflow`` to a
resolver. Nothing is imported before the script imports it. Nothing of the standard library is
imported here that a user's module of the same name could replace.
"""

from __future__ import annotations

import sys
from _frozen_importlib import ModuleSpec  # importlib.machinery may not be loaded yet

from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from importlib.abc import Loader
    from types import ModuleType
    from typing import Any

    from danlu_runtime.warm.modules import HiddenModules
else:
    Loader = object  # importlib.abc may not be loaded yet


class Finder:
    """The first finder on ``sys.meta_path``.

    It holds ``"package.module:function"`` strings, which are loaded on use.
    """

    def __init__(self) -> None:
        self.after: dict[str, list[str]] = {}
        self.around: dict[str, str] = {}  # context managers
        self.served: dict[str, str] = {}
        # Top-level package -> function that returns the module for a name, or None.
        self.resolvers: dict[str, str] = {}
        self.loading: set[str] = set()  # patched modules that are being loaded
        self.hidden_modules: HiddenModules | None = (
            None  # the finder of hidden modules in a warm process
        )

    def amend(self, hooks: Mapping[str, str]) -> None:
        for name, hook in hooks.items():
            self.after.setdefault(name, []).append(hook)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        resolver = self.resolvers.get(name.partition(".")[0])
        # TensorFlow imports its own modules, and Keras 3, by their real names.
        if resolver is not None and "tensorflow" not in self.loading:
            module = load(resolver)(name)
            if module is not None:
                return _spec(name, _Serving(module))
        if name in self.after:
            spec = self._others(name, path, target)
            if spec is not None and spec.loader is not None and not _is_own(spec):
                around = self.around.get(name, "")
                spec.loader = _Amending(spec.loader, self.after[name], around, self.loading)
                return spec
        if name in self.served and self._others(name, path, target) is None:
            return _spec(name, _Serving(self.served[name]))
        return (
            None
            if self.hidden_modules is None
            else self.hidden_modules.find_spec(name, path, target)
        )

    def _others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in (self.hidden_modules, *sys.meta_path):
            if finder is self or finder is None or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def load(hook: str) -> Callable[..., Any]:
    """Return the function named by ``"package.module:function"``."""
    name, _, function = hook.partition(":")
    __import__(name)
    return getattr(sys.modules[name], function)


def _is_own(spec: ModuleSpec) -> bool:
    """Return True for a user's module that has the name of a library; it is not patched."""
    return spec.has_location and own_code.contains(spec.origin or "")


def import_if_there(name: str) -> ModuleType | None:
    """Import a module; return None if it, or a package above it, does not exist."""
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        if not error.name or not (name == error.name or name.startswith(f"{error.name}.")):
            raise
    return sys.modules.get(name)


def _spec(name: str, loader: _Serving) -> ModuleSpec:
    return ModuleSpec(name, loader, is_package=True)


class _Amending(Loader):
    """Loader that calls the hooks after the real loader; it leaves no trace on the module."""

    def __init__(
        self, loader: Loader, hooks: Sequence[str], around: str, loading: set[str]
    ) -> None:
        self._loader = loader
        self._loading = loading
        self._hooks = hooks
        self._around = around

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create is not None else None

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loading.add(module.__name__)
        try:
            self._execute(module)
        finally:
            self._loading.discard(module.__name__)
        module = sys.modules.get(module.__name__, module)  # a loader may replace the module
        for hook in self._hooks:
            replaced = load(hook)(module)
            if replaced is not None:
                sys.modules[module.__name__] = module = replaced

    def _execute(self, module: ModuleType) -> None:
        if not self._around:
            return self._loader.exec_module(module)
        with load(self._around)():
            return self._loader.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Serving(Loader):
    """Loader that returns a module that exists under another name.

    The import system would write its own spec into a module returned by ``create_module``.
    Therefore the real module replaces the empty one when that is executed.
    """

    def __init__(self, module: ModuleType | str) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        served = self._module
        if isinstance(served, str):
            __import__(served)
            served = sys.modules[served]
        sys.modules[module.__name__] = served
