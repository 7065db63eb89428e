"""Patches for TensorFlow 2: names that 2.0-2.15 had, ``tf.estimator`` and Keras 2 paths."""

from types import ModuleType
from typing import Any

_KERAS = "tf_keras.api._v2.keras"


def enter(real: Any) -> None:
    from danlu_runtime import checkpoint_validation, steps
    from danlu_runtime.start.activate import version_seen
    from danlu_runtime.tf1.facade import Late

    real.estimator = Late("tensorflow.estimator")
    real.compat.v1.estimator = Late("tensorflow.compat.v1.estimator")
    checkpoint_validation.install(real)
    steps.install_second()
    real.__version__ = version_seen()


def resolve(name: str) -> ModuleType | None:
    if name == "tensorflow.estimator" or name.startswith("tensorflow.estimator."):
        from danlu_runtime.tf1.estimator import second

        return second(name.removeprefix("tensorflow.estimator").lstrip("."))
    if name.startswith("tensorflow.compat.v1.estimator"):
        from danlu_runtime.tf1.estimator import public

        return public(name.removeprefix("tensorflow.compat.v1.estimator").lstrip("."))
    if name == "tensorflow.keras" or name.startswith("tensorflow.keras."):
        from danlu_runtime.keras2 import below, is_used

        return (
            below(_KERAS, name.removeprefix("tensorflow.keras").lstrip(".")) if is_used() else None
        )
    return None
