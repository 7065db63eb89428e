"""Imports tf-slim without scikit-learn, which costs four times what the rest of it does.

tf-slim 1.1 imports ``sklearn.metrics`` for the scores of one loss, ``cluster_loss``. Whoever takes
a name from tf-slim imports this module before, and scikit-learn is imported when that loss is run.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

_SCORES = "sklearn.metrics"


class _Late(ModuleType):
    """Stands for a module until something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


def _import() -> None:
    if _SCORES in sys.modules:
        importlib.import_module("tf_slim")
        return
    sys.modules[_SCORES] = _Late(_SCORES)
    try:
        importlib.import_module("tf_slim")
    finally:
        del sys.modules[_SCORES]


_import()
