"""The module that a script imports as ``tensorflow``: names of 1.x first, then those of 2.x."""

import importlib
import sys
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from danlu.errors import Unsupported
from danlu.messages import get_message
from danlu_runtime.reports import notes
from danlu_runtime.tf1.before_1_0 import OLDER

_MODULES = ("contrib", "core", "estimator", "examples", "keras", "python")  # imported on use


class Facade(ModuleType):
    """Facade of TensorFlow 1 over TensorFlow 2.

    Names are looked up once and stored. A script can set attributes as on any module.
    """

    def __init__(self, real: ModuleType, version: str) -> None:
        super().__init__("tensorflow", real.__doc__)
        self.__dict__.update(
            __file__=real.__file__,
            __path__=real.__path__,
            __package__="tensorflow",
            __spec__=real.__spec__,
            __loader__=real.__loader__,
            __version__=version,
            VERSION=version,
            compat=real.compat,
            _real=real,
        )
        real.compat.v1.estimator = Late("tensorflow.estimator")

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__["_real"]
        if name in _MODULES:
            return importlib.import_module(f"tensorflow.{name}")
        for place in (real.compat.v1, real):
            try:
                value = getattr(place, name)
            except AttributeError:
                continue
            self.__dict__[name] = value
            return value
        if name in OLDER:
            self.__dict__[name] = value = OLDER[name]()
            return value
        return self._import_or_refuse(name)

    def _import_or_refuse(self, name: str) -> Any:
        # ``import tensorflow.python.x`` sets no attribute here if the module was loaded before.
        loaded = sys.modules.get(f"tensorflow.{name}")
        if loaded is not None:
            return loaded
        text = f"module 'tensorflow' has no attribute {name!r}"
        near = get_close_matches(name, dir(self), n=1, cutoff=0.8)
        raise AttributeError(f"{text}. Did you mean {near[0]!r}?" if near else text)

    def __dir__(self) -> list[str]:
        real = self.__dict__["_real"]
        names = {*dir(real.compat.v1), *dir(real), *_MODULES, *OLDER}
        return sorted(name for name in names if not name.startswith("_"))


class Late(ModuleType):
    """A module that is imported on first use."""

    def __getattr__(self, name: str) -> Any:
        if name in ("__path__", "__file__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


class RemovedNameError(AttributeError, Unsupported):
    """A removed attribute; scripts that use ``hasattr`` see it as an AttributeError."""

    def __init__(self, message: str) -> None:
        Unsupported.__init__(self, message)
        _note_use(message)


class GoneModule(ImportError, Unsupported):
    """A removed module; scripts that catch ImportError see it as one."""

    def __init__(self, message: str) -> None:
        Unsupported.__init__(self, message)
        _note_use(message)


def _note_use(message: str) -> None:
    """Write a note if the user's own code uses the name; libraries only probing are ignored."""
    file, line = notes.caller()
    if file:
        notes.note("gone", message, file, line)


def sentence(name: str, instead: str) -> str:
    """Return the error message.

    ``instead`` is a value of a table ``GONE``: the key of a message, which begins with
    ``removed.``, or the name to use.
    """
    if instead.startswith("removed."):
        advice = get_message(instead)
    else:
        advice = get_message("removed.use", name=instead)
    return get_message("tf1.not_there", name=name, instead=advice)
