"""``imp``, removed in Python 3.12, with which scripts loaded settings and models."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from types import ModuleType
from typing import Any

PY_SOURCE, PY_COMPILED, C_EXTENSION, PKG_DIRECTORY = 1, 2, 3, 5
reload = importlib.reload


def new_module(name: str) -> ModuleType:
    return ModuleType(name)


def load_source(name: str, pathname: str, file: Any = None) -> ModuleType:
    """Load a file as a module of the given name; a user's file is repaired if needed."""
    from danlu_runtime.repair.loader import CodeLoader
    from danlu_runtime.start import own_code

    kind = CodeLoader if own_code.contains(pathname) else importlib.machinery.SourceFileLoader
    spec = importlib.util.spec_from_file_location(name, pathname, loader=kind(name, pathname))
    return _load(spec)


def load_compiled(name: str, pathname: str, file: Any = None) -> ModuleType:
    loader = importlib.machinery.SourcelessFileLoader(name, pathname)
    return _load(importlib.util.spec_from_file_location(name, pathname, loader=loader))


def load_dynamic(name: str, path: str, file: Any = None) -> ModuleType:
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    return _load(importlib.util.spec_from_file_location(name, path, loader=loader))


def _load(spec: Any) -> ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(spec.name, None)
        raise
    return sys.modules[spec.name]


def find_module(name: str, path: Any = None) -> tuple[Any, str, tuple[str, str, int]]:
    """Return (open file, path, description); a package has no open file."""
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is None or spec.origin is None:
        raise ImportError(f"No module named {name!r}", name=name)
    if spec.submodule_search_locations:
        return None, os.path.dirname(spec.origin), ("", "", PKG_DIRECTORY)
    suffix = os.path.splitext(spec.origin)[1]
    if suffix == ".py":
        return open(spec.origin, encoding="utf-8"), spec.origin, (suffix, "r", PY_SOURCE)
    kind = C_EXTENSION if suffix == ".so" else PY_COMPILED
    return open(spec.origin, "rb"), spec.origin, (suffix, "rb", kind)


def load_module(name: str, file: Any, filename: str, details: tuple[str, str, int]) -> ModuleType:
    kind = details[2]
    if kind == PKG_DIRECTORY:
        return load_source(name, os.path.join(filename, "__init__.py"))
    loaders = {PY_SOURCE: load_source, PY_COMPILED: load_compiled, C_EXTENSION: load_dynamic}
    return loaders[kind](name, filename)


def get_suffixes() -> list[tuple[str, str, int]]:
    extensions = [(one, "rb", C_EXTENSION) for one in importlib.machinery.EXTENSION_SUFFIXES]
    sources = [(one, "r", PY_SOURCE) for one in importlib.machinery.SOURCE_SUFFIXES]
    return [*extensions, *sources, (".pyc", "rb", PY_COMPILED)]


def lock_held() -> bool:
    return False


def acquire_lock() -> None:
    """Do nothing; each module has its own lock since Python 3.3."""


release_lock = acquire_lock
