"""Keras 2 for scripts of 2016-2022: ``import keras``, ``tf.keras``, ``tensorflow.python.keras``.

The current keras package is Keras 3. These scripts get tf-keras 2.21, with the paths, names,
arguments and defaults of Keras 1.0-2.3.

``paths``, ``names``, ``backend_names``: modules and names under their old paths.
``old_arguments``, ``keras1_arguments``, ``training_calls``: arguments of classes, layers, models.
``keras1_layers``: layers, metrics and regularizers that only Keras 1 had.
``tensorflow_1``: numbers and log lines that TensorFlow 1.15 had in another way.
``standalone``, ``package``, ``keras_version``: the package ``keras``, apart from ``tf.keras``.
``older``: what Keras 2.0-2.3 did otherwise.
``data_files``, ``hdf5_matrix``: ``keras.datasets`` and ``get_file``; ``HDF5Matrix``.
``saved_models``, ``scikit_learn``: exported models and several GPUs; scikit-learn wrappers.
"""

import os
from typing import Any

from danlu_runtime.keras2.paths import below, resolve

__all__ = ["amend", "below", "is_used", "resolve"]


def is_used() -> bool:
    """Return True if TensorFlow uses Keras 2 in this process, and not Keras 3."""
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def amend(api: Any) -> None:
    """Patch an API of tf-keras, ``tf_keras.api._v1.keras`` or ``_v2``, after it is loaded."""
    from danlu_runtime.keras2 import names, old_arguments, paths

    old_arguments.accept()
    names.complete(api)
    api.__version__ = paths.of_tensorflow_keras()
