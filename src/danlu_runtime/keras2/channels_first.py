"""Images with channels first on a machine without a GPU, as Keras 2.3 computed them.

TensorFlow's operations for CPUs know channels last only. The layers of tf-keras 2.21 hand them
what they get, where those of Keras 2.3 turned images round before and after.
"""

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import tensorflow.compat.v1 as tf

_LAYERS = (
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "DepthwiseConv2D",
    "MaxPooling2D",
    "AveragePooling2D",
    "MaxPooling3D",
    "AveragePooling3D",
    "SeparableConv2D",
)


def run_without_gpu() -> None:
    from tf_keras.api._v1.keras import layers
    from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase

    wrapped: set[Any] = set()
    for name in _LAYERS:
        for kind in getattr(layers, name).__mro__:
            if "call" in vars(kind) and kind.__module__.startswith("tf_keras.src.layers."):
                if kind not in wrapped:
                    kind.call = _turning(kind.call)
                    wrapped.add(kind)
                break
    check = BatchNormalizationBase._raise_if_fused_cannot_be_used

    @functools.wraps(check)
    def _raise_if_fused_cannot_be_used(self: Any) -> None:
        axis = self.axis if isinstance(self.axis, int) else self.axis[0]
        if axis == 1 and not _has_gpu():
            raise ValueError("On CPUs the fused operation knows channels last only.")
        check(self)

    BatchNormalizationBase._raise_if_fused_cannot_be_used = _raise_if_fused_cannot_be_used


def _has_gpu() -> bool:
    from tf_keras.src import backend

    return bool(backend._get_available_gpus())


def _turning(original: Callable[..., Any]) -> Callable[..., Any]:
    # Keras reads the names of the arguments: ``training`` is passed to layers that have it.
    @functools.wraps(original)
    def call(self: Any, inputs: Any) -> Any:
        rank = len(inputs.shape)
        if getattr(self, "data_format", "") != "channels_first" or rank < 4 or _has_gpu():
            return original(self, inputs)
        to_last = [0, *range(2, rank), 1]
        to_first = [0, rank - 1, *range(1, rank - 1)]
        with _as_channels_last(self):
            outputs = original(self, tf.transpose(inputs, to_last))
        return tf.transpose(outputs, to_first)

    return call


class _as_channels_last:
    """A layer that believes in channels last meanwhile."""

    _NEW: ClassVar = {
        "data_format": "channels_last",
        "_tf_data_format": "NHWC",
        "_channels_first": False,
    }

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._old = {name: getattr(layer, name) for name in self._NEW if hasattr(layer, name)}

    def __enter__(self) -> None:
        for name in self._old:
            object.__setattr__(self._layer, name, self._NEW[name])
        if "_tf_data_format" in self._old and "3D" in type(self._layer).__name__:
            object.__setattr__(self._layer, "_tf_data_format", "NDHWC")

    def __exit__(self, *_: object) -> None:
        for name, value in self._old.items():
            object.__setattr__(self._layer, name, value)
