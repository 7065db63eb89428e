"""Computations that Keras 2.0-2.3 did in another way than tf-keras.

Each is changed for marked layers, or while code of the package ``keras`` runs.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src import backend
from tf_keras.src.engine import base_layer_v1
from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase
from tf_keras.src.layers.rnn.base_rnn import RNN
from tf_keras.src.saving.legacy import hdf5_format

from danlu_runtime.keras2.standalone import belongs, is_active

_SIZE = "_size_of_sample"


def accept() -> None:
    """Patch tf-keras, once."""
    layer = base_layer_v1.Layer
    layer._handle_activity_regularization = _whole(layer._handle_activity_regularization)
    if "inputs" not in inspect.signature(layer.add_update).parameters:
        layer.add_update = _with_inputs(layer.add_update)
    RNN.build = _naming_after_layer(RNN.build)
    backend.resize_images = _resizing(backend.resize_images)
    backend._get_logits = _by_operation(backend._get_logits)
    norm = BatchNormalizationBase
    norm._calculate_mean_and_var = _counting(norm._calculate_mean_and_var)
    norm._fused_batch_norm = _counting(norm._fused_batch_norm)
    norm._assign_moving_average = _unbiased(norm._assign_moving_average)
    hdf5_format.save_weights_to_hdf5_group = _by_layer(hdf5_format.save_weights_to_hdf5_group)


def _whole(original: Callable[..., None]) -> Callable[..., None]:
    """Add the penalty on a layer's output for the whole batch, not divided by its size."""

    @functools.wraps(original)
    def _handle_activity_regularization(self: Any, inputs: Any, outputs: Any) -> None:
        if not belongs(self):
            return original(self, inputs, outputs)
        if self._activity_regularizer:
            for output in tf.nest.flatten(outputs):
                self.add_loss(self._activity_regularizer(output), inputs=inputs)
        return None

    return _handle_activity_regularization


def _with_inputs(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def add_update(self: Any, updates: Any, inputs: Any = None) -> None:
        original(self, updates)

    return add_update


def _naming_after_layer(original: Callable[..., None]) -> Callable[..., None]:
    """Build the cells of a layer in the scope of the layer: ``lstm_1/kernel``."""

    @functools.wraps(original)
    def build(self: Any, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        if belongs(self) and not self.time_major:
            shape = tuple(tf.TensorShape(shape).as_list())
            step = (shape[0], *shape[2:])
            for cell in getattr(self.cell, "cells", [self.cell]):
                if isinstance(cell, base_layer_v1.Layer) and not cell.built:
                    cell.build(step)
                    cell.built = True
                step = (step[0], *_output_size(cell))
        original(self, input_shape)

    return build


def _output_size(cell: Any) -> list[int]:
    size = getattr(cell, "output_size", None)
    if size is None:
        states = cell.state_size
        size = states[0] if isinstance(states, list | tuple) else states
    return list(tf.TensorShape(size).as_list())


def _resizing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Interpolate between the corners of pixels, as TensorFlow 1 did, not between their centres."""

    @functools.wraps(original)
    def resize_images(
        x: Any, height_factor: int, width_factor: int, data_format: str, *args: Any, **kwargs: Any
    ) -> Any:
        kind = args[0] if args else kwargs.get("interpolation", "nearest")
        if not is_active() or kind != "bilinear":
            return original(x, height_factor, width_factor, data_format, *args, **kwargs)
        first = data_format == "channels_first"
        x = tf.transpose(x, [0, 2, 3, 1]) if first else x
        factors = (height_factor, width_factor)
        size = tf.shape(x)[1:3] * tf.constant(factors, tf.int32)
        known = [None if n is None else n * by for n, by in zip(x.shape[1:3], factors, strict=True)]
        x = tf.image.resize_bilinear(x, size)
        x.set_shape((None, *known, None))
        return tf.transpose(x, [0, 3, 1, 2]) if first else x

    return resize_images


def _by_operation(original: Callable[..., Any]) -> Callable[..., Any]:
    """Use the logits of an output only if its own operation is the expected one.

    ``binary_crossentropy`` of the output of a softmax uses the probabilities.
    """

    @functools.wraps(original)
    def _get_logits(output: Any, from_logits: bool, op_type: str, fn_name: str) -> Any:
        if is_active() and not from_logits and isinstance(output, tf.Tensor):
            operation = None if tf.executing_eagerly() else output.op
            if operation is not None and operation.type == op_type:
                return operation.inputs[0], True
            return output, False
        return original(output, from_logits, op_type, fn_name)

    return _get_logits


def _counting(original: Callable[..., Any]) -> Callable[..., Any]:
    """Remember how many values each mean of a BatchNormalization is taken from."""

    @functools.wraps(original)
    def compute(self: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if belongs(self):
            count = tf.size(inputs) // tf.shape(inputs)[self.axis[0]]
            object.__setattr__(self, _SIZE, tf.cast(count, tf.float32))
        return original(self, inputs, *args, **kwargs)

    return compute


def _unbiased(original: Callable[..., Any]) -> Callable[..., Any]:
    """Estimate the variance of the population, which the moving variance was."""

    @functools.wraps(original)
    def _assign_moving_average(
        self: Any, variable: Any, value: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if belongs(self) and variable is self.moving_variance:
            size = getattr(self, _SIZE)
            value = value * tf.cast(size / (size - (1.0 + self.epsilon)), value.dtype)
        return original(self, variable, value, *args, **kwargs)

    return _assign_moving_average


def _by_layer(original: Callable[..., None]) -> Callable[..., None]:
    """Write no group for weights outside of layers, which the old library takes for a layer."""

    @functools.wraps(original)
    def save(group: Any, model: Any) -> None:
        original(group, model)
        top = "top_level_model_weights"
        if belongs(model) and top in group and not len(group[top]):
            del group[top]

    return save
