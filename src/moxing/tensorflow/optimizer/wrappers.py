"""``mox.get_optimizer_fn`` and ``mox.get_optimizer_wrapper_fn``: optimizers by name."""

import inspect
import numbers
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import suggestion
from moxing.tensorflow.optimizer.batch_gradients import BatchGradientsWrapper
from moxing.tensorflow.optimizer.easgd import EASGDWrapper
from moxing.tensorflow.optimizer.lars import LARSWrapper
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


class OptimizerKeys:
    ADADELTA = "adadelta"
    ADAGRAD = "adagrad"
    ADAM = "adam"
    FTRL = "ftrl"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"
    SGD = "sgd"


class OptimizerWrapperKeys:
    BATCH_GRADIENTS = "batch_gradients"
    EASGD = "easgd"
    LARS = "lars"


_CLASSES: dict[str, type[OptimizerWrapper]] = {
    OptimizerWrapperKeys.BATCH_GRADIENTS: BatchGradientsWrapper,
    OptimizerWrapperKeys.EASGD: EASGDWrapper,
    OptimizerWrapperKeys.LARS: LARSWrapper,
}


def get_optimizer_wrapper_fn(
    name: str, optimizer: Any, **kwargs: Any
) -> Callable[[], tf.train.Optimizer]:
    """Return a function that wraps an optimizer, or a wrapper, in another one.

    Raises:
        ValueError: there is no such wrapper.
        TypeError: it does not take these arguments.
    """
    if name not in _CLASSES:
        raise ValueError(
            f"There is no optimizer wrapper named {name!r}. {suggestion(str(name), _CLASSES)}"
        )
    kind = _CLASSES[name]
    signature = inspect.signature(kind)
    try:
        signature.bind(optimizer, **kwargs)
    except TypeError as error:
        raise TypeError(
            f"get_optimizer_wrapper_fn({name!r}, …): {error}. "
            f"It takes {', '.join(signature.parameters)}."
        ) from None

    def optimizer_fn() -> tf.train.Optimizer:
        # Once for nested wrappers; a single worker does not wait (manual, pitfall 5-2-1).
        is_first = not isinstance(optimizer, OptimizerWrapper)
        if is_first and mox_flags.sync_replicas and Workers.of_flags().several:
            tf.logging.warning(
                "Using OptimizerWrapper when sync_replicas is True may cause performance loss."
            )
        return kind(optimizer, **kwargs)

    return optimizer_fn


_OPTIMIZER_CLASSES = {
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
    if name not in _OPTIMIZER_CLASSES:
        raise ValueError(
            f"There is no optimizer named {name!r}. {suggestion(str(name), _OPTIMIZER_CLASSES)}"
        )
    kind = _OPTIMIZER_CLASSES[name]
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
