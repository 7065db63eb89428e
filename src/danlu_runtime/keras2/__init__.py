"""Keras 2 for scripts of 2016-2022: ``import keras``, ``tf.keras``, ``tensorflow.python.keras``.

The keras package of today is Keras 3. These scripts mean tf-keras 2.21, in TensorFlow 1 its
graph-mode API, with the paths, names, arguments and defaults that Keras 1.0-2.3 had besides.
"""

import os
from types import ModuleType

from danlu_runtime.keras2.paths import below, resolve

__all__ = ["amend", "below", "is_used", "resolve"]


def is_used() -> bool:
    """Tell whether TensorFlow takes Keras 2 in this process, and not Keras 3."""
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def amend(api: ModuleType) -> None:
    """Complete an API of tf-keras, ``tf_keras.api._v1.keras`` or ``_v2``, once it is loaded."""
    from danlu_runtime.keras2 import accepted, names, versions

    accepted.accept()
    names.complete(api)
    api.__version__ = versions.of_tensorflow_keras()  # type: ignore[attr-defined]
