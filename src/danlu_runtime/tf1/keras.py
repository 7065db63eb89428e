"""tf-keras 2.21 where TensorFlow 1's Keras accepted more."""

from typing import Any


def accept_old_calls() -> None:
    _accept_any_input_shape()
    _give_v1_optimizers_back()


def _accept_any_input_shape() -> None:
    """TensorFlow 1 took (None, 28, 28) into a model of 784 inputs that reshapes itself."""
    from tf_keras.src.engine.functional import Functional

    def nothing(self: Any) -> None:
        return None

    def ignore(self: Any, value: Any) -> None:
        """Set by the constructor; nothing reads it."""

    Functional.input_spec = property(nothing, ignore)


def _give_v1_optimizers_back() -> None:
    """``model_to_estimator`` of tensorflow-estimator 2.15 looks for ``optimizers.experimental``."""
    from tf_keras.api._v1.keras import optimizers
    from tf_keras.src.optimizers import optimizer

    if not hasattr(optimizers, "experimental"):
        optimizers.experimental = type("experimental", (), {"Optimizer": optimizer.Optimizer})
