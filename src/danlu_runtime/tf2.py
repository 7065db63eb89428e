"""Plain TensorFlow 2, with what 2.0-2.15 had besides: ``tf.estimator``, paths of Keras 2."""

from types import ModuleType

_KERAS = "tf_keras.api._v2.keras"


def enter(real: ModuleType) -> None:
    from danlu_runtime import whole_checkpoints
    from danlu_runtime.activate import version_seen
    from danlu_runtime.tf1.facade import Late

    real.estimator = Late("tensorflow.estimator")  # type: ignore[attr-defined]
    real.compat.v1.estimator = Late("tensorflow.compat.v1.estimator")
    whole_checkpoints.mend(real)
    real.__version__ = version_seen()  # type: ignore[attr-defined]


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
