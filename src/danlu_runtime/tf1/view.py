"""``tf.contrib`` as scripts spell it: public names, and every private path to them.

A view shows a module of ours under another name. Private paths collapse: of
``tensorflow.contrib.learn.python.learn.learn_runner`` those parts count that exist here, so it is
``learn.learn_runner``. Views are modules of their own, because Python writes the name of each
imported part into its parent: it must not meet a function of that name in the module shown.
"""

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NoReturn

from danlu.errors import suggestion
from danlu_runtime import notes
from danlu_runtime.tf1.gone import GoneModule, GoneName, sentence

_ROOT = "danlu_runtime.tf1.contrib"
_HERE = "tensorflow.contrib"
_MISSING = object()


def contrib(parts: Sequence[str]) -> ModuleType | None:
    """Return what ``tensorflow.contrib.<parts>`` shows; None where there is no such module.

    Raises:
        GoneModule: it cannot be had any more.
    """
    own = importlib.import_module(_ROOT)
    if parts and not _exists(f"{_ROOT}.{parts[0]}"):
        if parts[0] in own.GONE:
            raise GoneModule(sentence(f"tf.contrib.{parts[0]}", own.GONE[parts[0]]))
        return None
    target = _target(parts)
    if target is None:
        return None
    if len(parts) == 1:
        notes.note("mapped", f"tf.contrib.{parts[0]} is a module of the runtime", *notes.caller())
    return View(".".join([_HERE, *parts]), importlib.import_module(target))


def _target(parts: Sequence[str]) -> str | None:
    found, private = _ROOT, False
    for part in parts:
        private = private or part in ("python", "api")
        if _exists(f"{found}.{part}"):
            found = f"{found}.{part}"
        elif not private:
            return None
    return found


def _exists(name: str) -> bool:
    parent = importlib.import_module(name.rpartition(".")[0])
    return hasattr(parent, "__path__") and find_spec(name) is not None


class View(ModuleType):
    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        self.__path__: list[str] = []  # a package: private paths go on below it
        self._target = target

    def __getattr__(self, name: str) -> Any:
        target = self.__dict__["_target"]
        found = getattr(target, name, _MISSING)
        # A submodule that something of ours has imported is an attribute too: it gets its view.
        if found is not _MISSING and not _is_below(found, target):
            return found
        if name == "__all__":
            return _public(target)  # what ``from tensorflow.contrib.x import *`` gives
        below = not name.startswith("_") and _exists(f"{target.__name__}.{name}")
        if name == "python" or below or self._repeats(name):
            return importlib.import_module(f"{self.__name__}.{name}")
        self._refuse(name)

    def _repeats(self, name: str) -> bool:
        """Tell whether it is the second ``learn`` of ``tf.contrib.learn.python.learn.x``."""
        parts = self.__name__.split(".")
        return "python" in parts and name == parts[2]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function of this name: ``….ops.arg_scope`` was a module and then a function.

        A private path that no longer leads to one is found out here.
        """
        parent, _, name = self.__name__.rpartition(".")
        function = getattr(self.__dict__["_target"], name, None)
        if callable(function):
            return function(*args, **kwargs)
        self._refuse(name, parent)

    def _refuse(self, name: str, parent: str = "") -> NoReturn:
        target = self.__dict__["_target"]
        shown = f"{parent or self.__name__}.{name}".replace("tensorflow.", "tf.", 1)
        gone = getattr(target, "GONE", {})
        if name in gone:
            if "." not in target.__name__.removeprefix(f"{_ROOT}."):
                notes.note("gone", sentence(shown, gone[name]), *notes.caller())
            raise GoneName(sentence(shown, gone[name]))
        if target.__name__ == _ROOT:
            contrib([name])  # says why, where the whole module is gone
        hint = "" if name.startswith("__") else suggestion(name, _public(target))
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}"
            + (f". {hint}" if hint.startswith("Did") else ""),
            name=name,
            obj=self,
        )

    def __dir__(self) -> list[str]:
        return _public(self.__dict__["_target"])


def _is_below(found: Any, target: ModuleType) -> bool:
    return isinstance(found, ModuleType) and found.__name__.startswith(f"{target.__name__}.")


def _public(module: ModuleType) -> list[str]:
    return [name for name in dir(module) if not name.startswith("_")]
