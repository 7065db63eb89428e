"""``mox.get_optimizer_fn``: the optimizers of ``tf.train`` by name."""

import inspect
import numbers
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import suggestion
from moxing.tensorflow.optimizer.keys import OptimizerKeys

_CLASSES = {
    OptimizerKeys.ADADELTA: tf.train.AdadeltaOptimizer,
    OptimizerKeys.ADAGRAD: tf.train.AdagradOptimizer,
    OptimizerKeys.ADAM: tf.train.AdamOptimizer,
    OptimizerKeys.FTRL: tf.train.FtrlOptimizer,
    OptimizerKeys.MOMENTUM: tf.train.MomentumOptimizer,
    OptimizerKeys.RMSPROP: tf.train.RMSPropOptimizer,
    OptimizerKeys.SGD: tf.train.GradientDescentOptimizer,
}


def get_optimizer_fn(
    name: str, learning_rate: Any, scope: str | None = None, *args: Any, **kwargs: Any
) -> Callable[[], tf.train.Optimizer]:
    """Return a function that makes an optimizer; what follows ``scope`` goes to its class.

    The optimizer is made when the function is called: in the graph of ``mox.run``.

    Raises:
        ValueError: there is no such optimizer.
        TypeError: its class does not take these arguments.
    """
    if name not in _CLASSES:
        raise ValueError(f"There is no optimizer named {name!r}. {suggestion(str(name), _CLASSES)}")
    kind = _CLASSES[name]
    if name == OptimizerKeys.MOMENTUM and not args:
        kwargs = {"momentum": 0.9, **kwargs}
    _check_rate(learning_rate)
    _check_arguments(name, kind, (learning_rate, *args), kwargs)

    def optimizer_fn() -> tf.train.Optimizer:
        with tf.name_scope(scope):
            return kind(learning_rate, *args, **kwargs)

    return optimizer_fn


def _check_rate(rate: Any) -> None:
    is_rate = isinstance(rate, numbers.Real) or tf.is_tensor(rate) or callable(rate)
    if isinstance(rate, bool) or not (is_rate or isinstance(rate, tf.Variable)):
        raise TypeError(f"learning_rate must be a number or a tensor, got {rate!r}.")


def _check_arguments(name: str, kind: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    signature = inspect.signature(kind)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"get_optimizer_fn({name!r}, …): {error}. "
            f"{kind.__name__} takes {', '.join(signature.parameters)}."
        ) from None
