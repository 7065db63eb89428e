"""The learning rate of an optimizer, whatever is wrapped around it."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.wrapping import layers

_NAMES = ("_learning_rate", "_lr")  # where the optimizers of TensorFlow keep what they were given


def learning_rate_of(optimizer: Any) -> Any:
    """Return the rate, a number or a tensor; None for an optimizer that has none we know of."""
    found = _found(optimizer)
    if found is None:
        return None
    rate = getattr(*found)
    return rate() if callable(rate) else rate


def scale_learning_rate(optimizer: Any, factor: Any) -> None:
    """Multiply the rate by ``factor``, a number or a tensor; before gradients are applied.

    Raises:
        ValueError: the optimizer has no rate we know of.
        RuntimeError: gradients have been applied, with the rate as it was.
    """
    found = _found(optimizer)
    if found is None:
        raise ValueError(
            f"{type(optimizer).__name__} has no learning rate that can be changed: keep it in "
            "self._learning_rate, and read it in _prepare."
        )
    owner, name = found
    if _has_applied(owner):
        raise RuntimeError(
            f"The learning rate of {type(owner).__name__} cannot be changed any more: its "
            "gradients have been applied."
        )
    rate = getattr(owner, name)
    setattr(
        owner,
        name,
        (lambda: _product(rate(), factor)) if callable(rate) else _product(rate, factor),
    )


def _found(optimizer: Any) -> tuple[Any, str] | None:
    for layer in layers(optimizer):
        for name in _NAMES:
            if getattr(layer, name, None) is not None:
                return layer, name
    return None


def _has_applied(optimizer: Any) -> bool:
    tensors = (f"{name}{end}" for name in _NAMES for end in ("_tensor", "_t"))
    return any(getattr(optimizer, name, None) is not None for name in tensors)


def _product(rate: Any, factor: Any) -> tf.Tensor:
    value = tf.convert_to_tensor(rate)
    return tf.multiply(value, tf.cast(factor, value.dtype), name="learning_rate")
