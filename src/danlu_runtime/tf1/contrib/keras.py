"""`tf.contrib.keras`: Keras of 1.1 to 1.3, before it was `tf.keras`, which serves it.

Paths such as `tensorflow.contrib.keras.python.keras.layers` lead here too, so names of its
modules are found without them.
"""

from typing import Any

import tensorflow.compat.v1 as tf

_SCIKERAS = "removed.scikeras"
GONE = {"wrappers": _SCIKERAS, "KerasClassifier": _SCIKERAS, "KerasRegressor": _SCIKERAS}

_MODULES = (
    *("layers", "models", "optimizers", "callbacks", "regularizers", "initializers"),
    *("constraints", "losses", "metrics", "activations", "utils", "backend"),
)


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and name not in GONE:
        for place in (tf.keras, *(getattr(tf.keras, module) for module in _MODULES)):
            if hasattr(place, name):
                return getattr(place, name)
    raise AttributeError(name)
