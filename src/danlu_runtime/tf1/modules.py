"""Resolves module paths below ``tensorflow``, including all paths of ``tf.contrib``.

A module of ``tf.contrib`` is a file of ``danlu_runtime.tf1.contrib``, or an entry of its table
``_aliases``. Files whose names begin with an underscore are not served. Of a private path only the
parts that exist here count: ``tensorflow.contrib.learn.python.learn.learn_runner`` is
``learn.learn_runner``.

Scripts see a ``ModuleAlias`` of the module and not the module itself, because Python sets each
imported submodule as an attribute of its parent. It must not replace a function of that name in the
real module.
"""

import importlib
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from types import FunctionType, GenericAlias, ModuleType, UnionType
from typing import Any, NoReturn

from danlu.errors import find_similar
from danlu.messages import get_message
from danlu_runtime.reports import notes
from danlu_runtime.start.finder import import_if_there
from danlu_runtime.tf1.contrib import _aliases
from danlu_runtime.tf1.facade import GoneModule, RemovedNameError, sentence

_ROOT = "danlu_runtime.tf1.contrib"
_HERE = "tensorflow.contrib"
_MISSING = object()


def contrib(parts: Sequence[str]) -> ModuleType | None:
    """Return the alias of ``tensorflow.contrib.<parts>``, None if there is no such module.

    Raises:
        GoneModule: the module was removed.
    """
    if parts and not _exists(parts[0]):
        gone = _load("").GONE
        if parts[0] in gone:
            raise GoneModule(sentence(f"tf.contrib.{parts[0]}", gone[parts[0]]))
        return None
    path = _path(parts)
    if path is None:
        return None
    if len(parts) == 1:
        notes.note("mapped", get_message("tf1.own_contrib", parts=parts[0]), *notes.caller())
    return ModuleAlias(".".join([_HERE, *parts]), path)


def _path(parts: Sequence[str]) -> str | None:
    """Return the path below contrib that ``parts`` lead to."""
    found, private = "", False
    for part in parts:
        private = private or part in ("python", "api")
        below = f"{found}.{part}".lstrip(".")
        if _exists(below):
            place = _aliases.MODULES.get(below, "")
            found = place.removeprefix("contrib.") if place.startswith("contrib.") else below
        elif not private:
            return None
    return found


def _exists(path: str) -> bool:
    if _is_in_table(path):
        return True
    parent, _, name = path.rpartition(".")
    if name.startswith("_") or _is_in_table(parent):
        return False
    return hasattr(_load(parent), "__path__") and find_spec(f"{_ROOT}.{path}") is not None


def _is_in_table(path: str) -> bool:
    return path in _aliases.MODULES or path in _aliases.NAMES


@cache
def _load(path: str) -> ModuleType:
    if path in _aliases.MODULES:
        return _module_at(_aliases.MODULES[path])
    if path in _aliases.NAMES:
        return _NamesModule(path)
    return importlib.import_module(f"{_ROOT}.{path}" if path else _ROOT)


def _module_at(place: str) -> ModuleType:
    """Return the module at a place of the table."""
    first, _, rest = place.partition(".")
    if first == "contrib":
        return _load(rest)
    if first == "estimator":
        from danlu_runtime.tf1.estimator import private

        return private(rest)
    if first == "tf_slim":
        importlib.import_module("danlu_runtime.tf1.tf_slim_import")
    return importlib.import_module(place)


def _value_at(place: str) -> Any:
    """Return the object at a place of the table."""
    module, _, name = place.rpartition(".")
    if not place.startswith("tf."):
        return getattr(_module_at(module), name)
    found: Any = importlib.import_module("tensorflow.compat.v1")
    for part in place.split(".")[1:]:
        found = getattr(found, part)
    return found


class _NamesModule(ModuleType):
    """A module of the table; each of its names is looked up on first use."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{_ROOT}.{path}", f"tf.contrib.{path}: names that are elsewhere today.")
        self._places = _aliases.NAMES[path]
        self.__all__ = sorted([*self._places, *_aliases.SUBMODULES.get(path, ())])

    def __getattr__(self, name: str) -> Any:
        place = self.__dict__["_places"].get(name)
        if place is None:
            raise AttributeError(name)
        value = self.__dict__[name] = _value_at(place)
        return value

    def __dir__(self) -> list[str]:
        return list(self._places)


class ModuleAlias(ModuleType):
    def __init__(self, name: str, path: str) -> None:
        target = _load(path)
        super().__init__(name, target.__doc__)
        self.__path__: list[str] = []  # a package: private paths continue below it
        self._below_contrib = path
        self._target = target

    def __getattribute__(self, name: str) -> Any:
        # Scripts list the classes of a module by its ``__dict__``; names are found on use here.
        if name == "__dict__" and sys._getframe(1).f_globals.get("__name__") != __name__:
            self._fill()
        return super().__getattribute__(name)

    def _fill(self) -> None:
        for name in set(dir(self._target)).intersection(dir(self)):
            self.__dict__.setdefault(name, getattr(self, name))

    def __getattr__(self, name: str) -> Any:
        target = self.__dict__["_target"]
        found = getattr(target, name, _MISSING)
        # A submodule imported by the runtime is an attribute too. It gets its own alias.
        if found is not _MISSING and not _is_below(found, target):
            return found
        if name == "__all__":
            return dir(self)  # the names of ``from tensorflow.contrib.x import *``
        path = f"{self._below_contrib}.{name}".lstrip(".")
        below = not name.startswith("_") and _exists(path)
        if name == "python" or below or self._repeats(name):
            return importlib.import_module(f"{self.__name__}.{name}")
        self._refuse(name)

    def _repeats(self, name: str) -> bool:
        """Return True for the second ``learn`` of ``tf.contrib.learn.python.learn.x``."""
        parts = self.__name__.split(".")
        return "python" in parts and name == parts[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of this name; ``….ops.arg_scope`` was first a module, then a function.

        A private path that leads to no function raises its error here.
        """
        parent, _, name = self.__name__.rpartition(".")
        function = getattr(self.__dict__["_target"], name, None)
        if callable(function):
            return function(*args, **kwargs)
        self._refuse(name, parent)

    def _refuse(self, name: str, parent: str = "") -> NoReturn:
        path = self.__dict__["_below_contrib"]
        shown = f"{parent or self.__name__}.{name}".replace("tensorflow.", "tf.", 1)
        gone = _aliases.GONE.get(path) or getattr(self.__dict__["_target"], "GONE", {})
        if name in gone:
            if "." not in path:
                notes.note("gone", sentence(shown, gone[name]), *notes.caller())
            raise RemovedNameError(sentence(shown, gone[name]))
        if not path:
            contrib([name])  # raises the reason if the whole module was removed
        near = "" if name.startswith("__") else find_similar(name, dir(self))
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}"
            + (f". Did you mean {near!r}?" if near else ""),
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        path, target = self.__dict__["_below_contrib"], self.__dict__["_target"]
        names = {name for name in dir(target) if not name.startswith("_")}
        if target.__name__.startswith(_ROOT) and not isinstance(target, _NamesModule):
            names = {name for name in names if _is_symbol(name, getattr(target, name))}
        return sorted(names.union(_aliases.SUBMODULES.get(path, ())))


def _is_below(found: Any, target: ModuleType) -> bool:
    return isinstance(found, ModuleType) and found.__name__.startswith(f"{target.__name__}.")


def _is_symbol(name: str, value: Any) -> bool:
    """Return False for what a module of ours only uses, such as ``tf`` and ``Any``."""
    if not isinstance(value, type | FunctionType | GenericAlias | UnionType):
        is_typing = type(value).__module__ == "typing"  # such as NoReturn
        return name != "GONE" and not is_typing and not isinstance(value, ModuleType)
    module = getattr(value, "__module__", None) or ""
    if module.startswith(("danlu.", "danlu_runtime.")):
        return module.startswith((_ROOT, _EXAMPLES))
    return module.partition(".")[0] not in sys.stdlib_module_names


# Folders of the installed package, which has its own modules under the same names.
_OWN = frozenset(
    ("_api", "compat", "compiler", "core", "distribute", "dtensor", "lite", "python", "tools")
)
_V1 = "tensorflow._api.v2.compat.v1"
_KERAS = "tf_keras.api._v1.keras"
_EXAMPLES = "danlu_runtime.tf1.examples"
# Internal TensorFlow modules that moved or are misspelt in a manual.
_MOVED = {
    "python.util.compact": "tensorflow.python.util.compat",  # the KDL manual's spelling
    "python.ops.rnn_cell": "tensorflow.compat.v1.nn.rnn_cell",
    "python.ops.seq2seq": "danlu_runtime.tf1.contrib.legacy_seq2seq",
    "python.ops.spectral_ops": "tensorflow.compat.v1.signal",
    "python.summary.event_accumulator": "tensorboard.backend.event_processing.event_accumulator",
    "python.training.checkpointable": "tensorflow.python.trackable",
    "python.training.distribute": "tensorflow.python.distribute.distribute_lib",
    "python.training.distribution_strategy_context": "tensorflow.python.distribute.distribute_lib",
    "python.training.learning_rate_decay_v2": "tensorflow.python.training.learning_rate_decay",
    "python.training.tracking": "tensorflow.python.trackable",
    "python.training.training_ops": "tensorflow.python.ops.gen_training_ops",
    "python.platform.default._flags": "tensorflow.python.platform.flags",
}


def resolve(name: str) -> ModuleType | None:
    """Return the module for ``name``, None to use the installed one.

    The finder calls this for every name that is not loaded yet.
    """
    if name == "tensorflow":
        return None
    path = name.removeprefix("tensorflow.")
    first, _, rest = path.partition(".")
    if first == "contrib":
        return contrib(rest.split(".") if rest else [])
    if first == "estimator":
        return _estimator(rest)
    if first == "keras":
        from danlu_runtime.keras2 import below

        return below(_KERAS, rest)
    if first == "examples":
        return import_if_there(f"{_EXAMPLES}.{rest}" if rest else _EXAMPLES)
    if first == "python":
        return _private(path)
    if path.startswith("compat.v1."):
        # Imported by its file it would be a second module, without the restored names of the first.
        path = path.removeprefix("compat.v1.")
    elif first in _OWN:
        return None
    return import_if_there(f"{_V1}.{path}")


def _private(path: str) -> ModuleType | None:
    if path in _MOVED:
        return importlib.import_module(_MOVED[path])
    if path == "python.estimator" or path.startswith("python.estimator."):
        from danlu_runtime.tf1.estimator import private

        return private(path.removeprefix("python.estimator").lstrip("."))
    return None


def _estimator(rest: str) -> ModuleType | None:
    from danlu_runtime.tf1.estimator import public

    return public(rest)
