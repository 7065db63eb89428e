"""Loads the modules of the user's code: repaired if needed, else as Python does.

Python 2 looked for ``import network`` beside the importing file first. A module that is found
nowhere else is looked for there if the file belongs to a package.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec  # importlib.machinery may not be loaded yet
from _frozen_importlib_external import PathFinder, SourceFileLoader

from danlu.messages import get_message
from danlu_runtime import repair
from danlu_runtime.old import PYTHON2
from danlu_runtime.reports import notes
from danlu_runtime.start import own_code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from types import CodeType, FrameType, ModuleType
else:
    Loader = object  # importlib.abc may not be loaded yet

_RUNTIME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def install(code_folder: str) -> None:
    """Install the finders for the folder; a second call with the same folder changes nothing."""
    os.environ.setdefault(own_code.VARIABLE, code_folder)
    if any(isinstance(finder, CodeFinder) for finder in sys.meta_path):
        return
    siblings = SiblingFinder()
    at = next((n for n, one in enumerate(sys.meta_path) if one is PathFinder), len(sys.meta_path))
    sys.meta_path.insert(at, CodeFinder(siblings))
    sys.meta_path += [siblings, Python2Finder()]


class CodeLoader(SourceFileLoader):
    """Loader of the user's files; files without need of repair use Python's bytecode cache."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if not any(sign in self.get_data(path) for sign in repair.SIGNS):
            try:
                return super().get_code(fullname)
            except (SyntaxError, ValueError):
                pass
        return repair.compile_repaired(self.get_data(path), path) or super().get_code(fullname)


class CodeFinder:
    """Finder before Python's path finder that adds the repairing loader to the user's modules."""

    def __init__(self, siblings: SiblingFinder) -> None:
        self._siblings = siblings

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        known = self._siblings.below_a_known_one(name)
        if known is not None:
            return known
        spec = PathFinder.find_spec(name, path, target)
        if (
            spec is not None
            and type(spec.loader) is SourceFileLoader
            and own_code.contains(spec.loader.path)
        ):
            spec.loader = CodeLoader(spec.loader.name, spec.loader.path)
        return spec


class SiblingFinder:
    """Last path finder, which finds ``network`` beside a module of a package, as Python 2 did."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        frame = _importing_frame()
        if path is not None or frame is None or not own_code.contains(frame.f_code.co_filename):
            return None
        package = str(frame.f_globals.get("__package__") or "")
        where = getattr(sys.modules.get(package), "__path__", None)
        if not where or PathFinder.find_spec(f"{package}.{name}", where) is None:
            return None
        self._found[name] = f"{package}.{name}"
        text = get_message("repair.implicit_import", name=name, package=package)
        notes.note("repaired", text, frame.f_code.co_filename, frame.f_lineno)
        return ModuleSpec(name, _Alias(f"{package}.{name}"), is_package=True)

    def below_a_known_one(self, name: str) -> ModuleSpec | None:
        """Return the spec of ``network.layers`` as an alias of ``trainer.network.layers``.

        There is one module, not two copies.
        """
        top, _, rest = name.partition(".")
        if not rest or top not in self._found:
            return None
        return ModuleSpec(name, _Alias(f"{self._found[top]}.{rest}"), is_package=True)


class Python2Finder:
    """Finder after all others that gives the user's files Python 2 modules by their new names."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None or name not in PYTHON2:
            return None
        frame = _importing_frame()
        if frame is None or not own_code.contains(frame.f_code.co_filename):
            return None
        now = PYTHON2[name]
        shown = get_message("repair.same") if now.startswith("danlu_runtime") else now
        text = get_message("repair.read_as", old=f"import {name}", new=shown)
        notes.note("mapped", text, frame.f_code.co_filename, frame.f_lineno)
        return ModuleSpec(name, _Alias(now), is_package=True)


class _Alias(Loader):
    """Loader that returns a module under a second name."""

    def __init__(self, real: str) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        __import__(self._real)
        sys.modules[module.__name__] = sys.modules[self._real]


def _importing_frame() -> FrameType | None:
    """Return the importing frame: the first outside Python's import system and the runtime."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen importlib") and not name.startswith(_RUNTIME):
            return frame
        frame = frame.f_back
    return None
