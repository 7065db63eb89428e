"""Asks the installed libraries, amended as a job has them, whether a name is there."""

import importlib
import sys
import warnings
from types import ModuleType
from typing import NamedTuple

from danlu_runtime.old import PYTHON2, SERVED
from danlu_runtime.old.names import PUT_BACK
from danlu_runtime.old.stdlib import MOVED

LIBRARIES = ("tensorflow", "numpy", "scipy", "pandas", "sklearn", "PIL", "cv2", "keras")


class Answer(NamedTuple):
    kind: str  # "mapped", "gone" or "" for a name that is simply there
    text: str = ""


def ask(path: str, *, imported: bool) -> Answer:
    """Say of a dotted name whether it is there, was put back, or is gone."""
    top = path.partition(".")[0]
    for served in (SERVED, PYTHON2):
        name = next((one for one in _prefixes(path) if one in served), "")
        if imported and name and not _is_real(name):
            return Answer("mapped", f"import {name} read as {_shown(served[name])}")
    module, _, last = path.rpartition(".")
    if last in MOVED.get(module, ()):
        return Answer("mapped", f"{path} read as {_shown(MOVED[module][last])}")
    if top not in LIBRARIES or (top != "tensorflow" and not _is_real(top)):
        return Answer("")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _walk(path)


def _walk(path: str) -> Answer:
    """Follow the name through modules; what lies inside a class or function is not looked at."""
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
                return Answer("mapped", f"{here}.{part} is put back")
            found = _step(found, here, part)
    except ImportError as error:  # GoneModule too
        return Answer("gone", _sentence(error, path))
    except AttributeError as error:
        return Answer("gone", _sentence(error, path))
    if path.startswith("tensorflow.contrib."):
        name = path.removeprefix("tensorflow.")
        return Answer("mapped", f"tf.{name} is a name of the runtime's own")
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
    from danlu_runtime.repair.keras_names import resolve

    try:
        resolve(path)
    except ImportError as error:
        return Answer("gone", str(error))
    return Answer("")


def _sentence(error: Exception, path: str) -> str:
    # A refusal may list every name there is.
    text = str(error).strip().split("\n")[0].partition(" Known: ")[0]
    return text if path.rpartition(".")[2] in text else f"{path}: {text}"


def _prefixes(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _is_real(name: str) -> bool:
    """Tell whether Python's own finders have a module."""
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


def _shown(where: str) -> str:
    name = where.replace(":", ".").rstrip(".").removeprefix("builtins.")
    return "one that does the same" if name.startswith("danlu_runtime") else name
