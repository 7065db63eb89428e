"""Checks whether a name exists in the installed libraries, patched as in a job."""

import importlib
import sys
import warnings
from types import ModuleType
from typing import NamedTuple

from danlu.messages import get_message
from danlu_runtime.old import PYTHON2, SERVED
from danlu_runtime.old.names import PUT_BACK
from danlu_runtime.old.stdlib import MOVED

LIBRARIES = ("tensorflow", "numpy", "scipy", "pandas", "sklearn", "PIL", "cv2", "keras")


class Answer(NamedTuple):
    kind: str  # "mapped", "gone", or "" for a name that exists
    text: str = ""


def ask(path: str, *, imported: bool) -> Answer:
    """Return whether a dotted name exists, is mapped to another one, or was removed."""
    top = path.partition(".")[0]
    for served in (SERVED, PYTHON2):
        name = next((one for one in _prefixes(path) if one in served), "")
        if imported and name and not _is_real(name):
            return Answer("mapped", _read_as(f"import {name}", served[name]))
    module, _, last = path.rpartition(".")
    if last in MOVED.get(module, ()):
        return Answer("mapped", _read_as(path, MOVED[module][last]))
    if top not in LIBRARIES or (top != "tensorflow" and not _is_real(top)):
        return Answer("")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _walk(path)


def _walk(path: str) -> Answer:
    """Follow the name through modules; the inside of classes and functions is not checked."""
    if path.startswith("tensorflow.python.keras"):
        return _private_keras(path.removeprefix("tensorflow.python.keras").lstrip("."))
    parts = path.split(".")
    try:
        found: object = importlib.import_module(parts[0])
        for number, part in enumerate(parts[1:], 1):
            if not isinstance(found, ModuleType):
                break
            here = ".".join(parts[:number])
            if part in PUT_BACK.get(here, ()) and part not in vars(found):
                return Answer("mapped", get_message("check.put_back", here=here, part=part))
            found = _step(found, here, part)
    except ImportError as error:  # includes GoneModule
        return Answer("gone", _sentence(error, path))
    except AttributeError as error:
        return Answer("gone", _sentence(error, path))
    if path.startswith("tensorflow.contrib."):
        name = path.removeprefix("tensorflow.")
        return Answer("mapped", get_message("check.own_name", name=name))
    return Answer("")


def _step(module: ModuleType, here: str, part: str) -> object:
    try:
        return getattr(module, part)
    except AttributeError as refusal:
        try:
            return importlib.import_module(f"{here}.{part}")
        except ModuleNotFoundError as error:
            if error.name == f"{here}.{part}":
                raise refusal from None
            raise


def _private_keras(path: str) -> Answer:
    from danlu_runtime.repair.keras_imports import resolve

    try:
        resolve(path)
    except ImportError as error:
        return Answer("gone", str(error))
    return Answer("")


def _sentence(error: Exception, path: str) -> str:
    # An error may list all known names.
    text = str(error).strip().split("\n")[0].partition(" Known: ")[0]
    return text if path.rpartition(".")[2] in text else f"{path}: {text}"


def _prefixes(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _is_real(name: str) -> bool:
    """Return True if Python's own finders find a module."""
    if name in sys.builtin_module_names:
        return True
    top = name.partition(".")[0]
    if top == name:
        return any(
            finder.find_spec(name, None) is not None
            for finder in sys.meta_path
            if getattr(finder, "__name__", "")
            in ("BuiltinImporter", "FrozenImporter", "PathFinder")
        )
    try:
        parent = importlib.import_module(name.rpartition(".")[0])
    except ImportError:
        return False
    finder = importlib.machinery.PathFinder
    return finder.find_spec(name, getattr(parent, "__path__", None)) is not None


def _read_as(old: str, where: str) -> str:
    name = where.replace(":", ".").rstrip(".").removeprefix("builtins.")
    new = get_message("repair.same") if name.startswith("danlu_runtime") else name
    return get_message("repair.read_as", old=old, new=new)
