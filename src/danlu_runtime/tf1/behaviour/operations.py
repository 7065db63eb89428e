"""Functions that accepted or returned something else in TensorFlow 1.15.

``parse_example`` of serialized examples of unknown rank gives features of known rank, and the
cross-entropies of ``tf.nn`` accept ``_sentinel``.
"""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

_NAME = ("labels", "logits", "name")
# The arguments that followed ``_sentinel``.
_CROSS_ENTROPIES = {
    "sigmoid_cross_entropy_with_logits": _NAME,
    "softmax_cross_entropy_with_logits": ("labels", "logits", "dim", "name", "axis"),
    "sparse_softmax_cross_entropy_with_logits": _NAME,
}


def restore() -> None:
    """Patch the modules of ``tf``."""
    import tensorflow.compat.v1 as tf

    tf.parse_example = tf.io.parse_example = _of_known_rank(tf.io.parse_example)
    for name, arguments in _CROSS_ENTROPIES.items():
        setattr(tf.nn, name, _with_sentinel(getattr(tf.nn, name), arguments))
    tf.config.experimental_list_devices = experimental_list_devices
    tf.pywrap_tensorflow = import_module("tensorflow.python.pywrap_tensorflow")


def experimental_list_devices() -> list[str]:
    """Return the names of the devices of this process."""
    import tensorflow.compat.v1 as tf

    return [device.name for device in tf.config.experimental.list_logical_devices()]


def _of_known_rank(original: Callable[..., Any]) -> Callable[..., Any]:
    """Take serialized examples of unknown rank for a vector."""

    @functools.wraps(original)
    def parse_example(
        serialized: Any, features: Any, name: str | None = None, example_names: Any = None
    ) -> Any:
        parsed = original(serialized, features, name=name, example_names=example_names)
        shape = getattr(serialized, "shape", None)
        if shape is None or getattr(shape, "rank", 0) is not None:
            return parsed
        for key, feature in features.items():
            if type(feature).__name__ == "FixedLenFeature":
                parsed[key].set_shape([None, *feature.shape])
            elif type(feature).__name__ == "FixedLenSequenceFeature":
                parsed[key].set_shape([None, None, *feature.shape])
        return parsed

    return parse_example


def _with_sentinel(original: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """Accept the first argument of 1.15, which is always None."""

    @functools.wraps(original)
    def loss(_sentinel: Any = None, *args: Any, **named: Any) -> Any:
        if _sentinel is not None:
            return original(_sentinel, *args, **named)
        return original(**dict(zip(names, args, strict=False)), **named)

    return loss
