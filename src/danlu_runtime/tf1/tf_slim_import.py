"""Imports tf-slim without scikit-learn, which takes four times as long as the rest of it.

tf-slim 1.1 imports ``sklearn.metrics`` for the scores of one loss, ``cluster_loss``. Modules that
use tf-slim import this module first. scikit-learn is imported when that loss runs.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

_SCORES = "sklearn.metrics"


class _Late(ModuleType):
    """Placeholder of a module that is imported on first use."""

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
