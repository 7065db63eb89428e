"""Imports tf-slim with the layers of ``tf.layers`` and without scikit-learn.

The private modules of TensorFlow 2.21 in which tf-slim finds layers have an outdated copy of them.

Importing scikit-learn takes four times as long as the rest. tf-slim 1.1 imports ``sklearn.metrics``
for the scores of one loss, ``cluster_loss``. Modules that use tf-slim import this module first.
scikit-learn is imported when that loss runs.
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


def _give_current_layers() -> None:
    for name in ("base", "convolutional", "core", "pooling"):
        old = importlib.import_module(f"tensorflow.python.layers.{name}")
        current = importlib.import_module(f"tf_keras.src.legacy_tf_layers.{name}")
        for attribute, value in list(vars(old).items()):
            if hasattr(value, "__name__") and hasattr(current, value.__name__):
                setattr(old, attribute, getattr(current, value.__name__))


def _import() -> None:
    _give_current_layers()
    if _SCORES in sys.modules:
        importlib.import_module("tf_slim")
        return
    sys.modules[_SCORES] = _Late(_SCORES)
    try:
        importlib.import_module("tf_slim")
    finally:
        del sys.modules[_SCORES]


_import()
