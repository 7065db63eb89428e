"""``mox.get_optimizer_wrapper_fn``: wrappers by name."""

import inspect
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import suggestion
from moxing.tensorflow.optimizer.batch_gradients import BatchGradientsWrapper
from moxing.tensorflow.optimizer.easgd import EASGDWrapper
from moxing.tensorflow.optimizer.keys import OptimizerWrapperKeys
from moxing.tensorflow.optimizer.lars import LARSWrapper
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper
from moxing.tensorflow.utils.hyper_param_flags import mox_flags

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
        # Once for all layers; one worker has nobody to wait for (manual, pitfall 5-2-1).
        is_first = not isinstance(optimizer, OptimizerWrapper)
        if is_first and mox_flags.sync_replicas and Workers.of_flags().several:
            tf.logging.warning(
                "Using OptimizerWrapper when sync_replicas is True may cause performance loss."
            )
        return kind(optimizer, **kwargs)

    return optimizer_fn
