"""Learning rates that Keras 2.3, and tf.keras before TensorFlow 1.14, took where none was given.

``Adadelta()`` began with 1.0; OptimizerV2 of tf-keras begins with 0.001, where the programs of
that time hardly learn.
"""

from functools import cache
from typing import Any

from danlu_runtime.keras2 import versions

_RATES = {"Adadelta": 1.0, "Adagrad": 0.01, "Adamax": 0.002, "Nadam": 0.002}
_NEW_IN = (1, 14)


def _prepare(rate: float) -> Any:
    def prepare(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not args and "lr" not in kwargs and "learning_rate" not in kwargs:
            kwargs = {**kwargs, "learning_rate": rate}
        return args, kwargs

    return prepare


PREPARED = {name: _prepare(rate) for name, rate in _RATES.items()}


def apply_where_old() -> None:
    """Give ``tf.keras`` of TensorFlow before 1.14 these rates."""
    if versions.tensorflow() >= _NEW_IN:
        return
    from tf_keras.api._v1.keras import optimizers

    from danlu_runtime.keras2.standalone import called_otherwise

    for name, prepare in PREPARED.items():
        setattr(optimizers, name, called_otherwise(getattr(optimizers, name), prepare))
    use_for_names()


@cache
def use_for_names() -> None:
    """Make ``compile(optimizer="adadelta")`` take them; once."""
    from tf_keras.src import optimizers

    rates = {name.lower(): rate for name, rate in _RATES.items()}
    original = optimizers.deserialize

    def deserialize(config: Any, *args: Any, **kwargs: Any) -> Any:
        rate = rates.get(str(config.get("class_name", "")).lower())
        if rate is not None and not config.get("config"):
            config = {**config, "config": {"learning_rate": rate}}
        return original(config, *args, **kwargs)

    optimizers.deserialize = deserialize
