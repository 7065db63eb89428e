"""Functions that return gradients, as `tf.contrib.eager` made them."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.eager import backprop

__all__ = [
    "gradients_function",
    "implicit_gradients",
    "implicit_value_and_gradients",
    "value_and_gradients_function",
]


def gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., Any]:
    """Return a function of the gradients of `f` by its arguments."""
    both = value_and_gradients_function(f, params)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def value_and_gradients_function(f: Callable[..., Any], params: Any = None) -> Callable[..., Any]:
    """Return a function of the value of `f` and its gradients by its arguments."""
    return backprop.val_and_grad_function(f, params)


def implicit_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the gradients of `f` by the variables it uses."""
    both = implicit_value_and_gradients(f)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]


def implicit_value_and_gradients(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of the value of `f` and (gradient, variable) pairs."""

    def both(*args: Any, **kwargs: Any) -> tuple[Any, list[tuple[Any, Any]]]:
        with tf.GradientTape() as tape:
            value = f(*args, **kwargs)
            if value is None:
                raise ValueError("A function that returns None has no gradients; return a loss.")
        variables = list(tape.watched_variables())
        if not variables:
            raise ValueError("No trainable variables were used while the function was computed.")
        gradients = tape.gradient(value, variables)
        return value, list(zip(gradients, variables, strict=True))

    return both
