"""Layers of ``tf.layers`` and ``tf.keras``: the operations that 1.15 created for them."""

import re
from collections.abc import Callable
from contextlib import nullcontext
from types import ModuleType
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import nn_ops
from tf_keras.src import backend
from tf_keras.src.layers.convolutional.base_conv import Conv
from tf_keras.src.layers.convolutional.conv1d import Conv1D
from tf_keras.src.layers.convolutional.conv2d import Conv2D
from tf_keras.src.layers.convolutional.conv2d_transpose import Conv2DTranspose
from tf_keras.src.layers.convolutional.conv3d import Conv3D
from tf_keras.src.layers.normalization.batch_normalization import BatchNormalizationBase
from tf_keras.src.layers.reshaping.flatten import Flatten
from tf_keras.src.layers.rnn import base_rnn, stacked_rnn_cells
from tf_keras.src.utils import control_flow_util, conv_utils, generic_utils

_build_convolution = Conv.build
_convolve = Conv.convolution_op
_build_normalization = BatchNormalizationBase.build


def _build_conv(self: Any, input_shape: Any) -> None:
    """Build a convolution. Its operation was prepared with the variables."""
    _build_convolution(self, input_shape)
    if self.groups > 1:
        return
    padding = self.padding
    if padding == "causal":
        padding = "valid"
    self._convolution_of_1_15 = nn_ops.Convolution(
        tf.TensorShape(input_shape),
        filter_shape=self.kernel.shape,
        dilation_rate=self.dilation_rate,
        strides=self.strides,
        padding=padding.upper() if isinstance(padding, str) else padding,
        data_format=conv_utils.convert_data_format(self.data_format, self.rank + 2),
    )


def _convolution(self: Any, inputs: Any, kernel: Any) -> Any:
    prepared = self.__dict__.get("_convolution_of_1_15")
    layout = conv_utils.convert_data_format(self.data_format, self.rank + 2)
    # keras2 calls a layer for channels_first on the CPU with the other layout.
    if prepared is None or tf.executing_eagerly() or prepared.data_format != layout:
        return _convolve(self, inputs, kernel)
    return prepared(inputs, kernel)


def _transpose_convolution(self: Any, inputs: Any) -> Any:
    """Return the result of a Conv2DTranspose; its size was always computed in the graph."""
    shape = tf.shape(inputs)
    batch = shape[0]
    rows, columns = (2, 3) if self.data_format == "channels_first" else (1, 2)
    padding = self.output_padding or (None, None)
    height, width = (shape[rows], shape[columns])
    sizes = [
        conv_utils.deconv_output_length(
            size,
            self.kernel_size[axis],
            padding=self.padding,
            output_padding=padding[axis],
            stride=self.strides[axis],
            dilation=self.dilation_rate[axis],
        )
        for axis, size in enumerate((height, width))
    ]
    if self.data_format == "channels_first":
        result_shape = (batch, self.filters, *sizes)
    else:
        result_shape = (batch, *sizes, self.filters)
    result = backend.conv2d_transpose(
        inputs,
        self.kernel,
        tf.stack(result_shape),
        strides=self.strides,
        padding=self.padding,
        data_format=self.data_format,
        dilation_rate=self.dilation_rate,
    )
    if not tf.executing_eagerly() and inputs.shape.rank:
        result.set_shape(self.compute_output_shape(inputs.shape))
    if self.use_bias:
        layout = conv_utils.convert_data_format(self.data_format, ndim=4)
        result = tf.nn.bias_add(result, self.bias, data_format=layout)
    return result if self.activation is None else self.activation(result)


def _flatten(self: Any, inputs: Any) -> Any:
    """Return the inputs as rows; the size of the batch was kept, the other one derived."""
    rank = inputs.shape.rank
    if self.data_format == "channels_first" and rank is not None and rank > 1:
        inputs = tf.transpose(inputs, perm=[0, *range(2, rank), 1])
    batch = tf.dimension_value(inputs.shape[0]) or tf.shape(inputs)[0]
    result = tf.reshape(inputs, (batch, -1))
    if not tf.executing_eagerly():
        result.set_shape(self.compute_output_shape(inputs.shape))
    return result


def _build_batch_normalization(self: Any, input_shape: Any) -> None:
    """Build a batch normalization. Constants stood for parameters that a fused one lacks."""
    if self.fused is None and len(input_shape) != 4:
        self.fused = False
    add_weight = self.add_weight

    def add(name: str, *args: Any, **kwargs: Any) -> Any:
        if self.fused and name in ("beta", "moving_mean"):
            _make_constants(self, before_beta=name == "beta")
        return add_weight(name, *args, **kwargs)

    self.add_weight = add
    try:
        _build_normalization(self, input_shape)
    finally:
        del self.add_weight


def _make_constants(self: Any, before_beta: bool) -> None:
    shape, dtype = self._param_shape, self._param_dtype
    if not self.scale and "_gamma_of_1_15" not in self.__dict__:
        self._gamma_of_1_15 = backend.constant(1.0, dtype=dtype, shape=shape)
    if not self.center and not before_beta:
        self._beta_of_1_15 = backend.constant(0.0, dtype=dtype, shape=shape)


def _normalize_fused(self: Any, inputs: Any, mask: Any, training: Any) -> Any:
    """Return the result of a fused batch normalization, and update the moving averages."""
    beta = self.beta if self.center else self._beta_of_1_15
    gamma = self.gamma if self.scale else self._gamma_of_1_15

    def of_batch() -> Any:
        return tf.nn.fused_batch_norm(
            inputs, gamma, beta, epsilon=self.epsilon, data_format=self._data_format
        )

    def of_averages() -> Any:
        return tf.nn.fused_batch_norm(
            inputs,
            gamma,
            beta,
            mean=self.moving_mean,
            variance=self.moving_variance,
            epsilon=self.epsilon,
            is_training=False,
            data_format=self._data_format,
        )

    result, mean, variance = control_flow_util.smart_cond(training, of_batch, of_averages)
    if not self._bessels_correction_test_only:
        size = tf.cast(tf.size(inputs) / tf.size(variance), variance.dtype)
        variance *= (size - tf.cast(1.0, variance.dtype)) / size
    training_value = control_flow_util.constant_value(training)
    if training_value is None:
        momentum = control_flow_util.smart_cond(training, lambda: self.momentum, lambda: 1.0)
    else:
        momentum = tf.convert_to_tensor(self.momentum)
    if training_value or training_value is None:
        self.add_update(_average(self, self.moving_mean, mean, momentum))
        self.add_update(_average(self, self.moving_variance, variance, momentum))
    return result


def _average(self: Any, variable: Any, value: Any, momentum: Any) -> Callable[[], Any]:
    return lambda: self._assign_moving_average(variable, value, momentum, None)


class _BackendOfCells(ModuleType):
    """``backend`` as recurrent layers see it.

    In TensorFlow 1.15 the variables of a cell had the name of the layer alone: ``lstm/kernel``.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(backend, name)

    def name_scope(self, name: str) -> Any:
        return nullcontext()


def _to_snake_case(name: str) -> str:
    """Return the name of a layer: ``conv_lst_m2d``, where TensorFlow 2 has ``conv_lstm2d``."""
    words = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    words = re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()
    return f"private{words}" if words.startswith("_") else words


def change_methods() -> None:
    generic_utils.to_snake_case = _to_snake_case
    base_rnn.backend = stacked_rnn_cells.backend = _BackendOfCells(backend.__name__)
    Conv.build = _build_conv
    for kind in (Conv1D, Conv2D, Conv3D):
        kind.convolution_op = _convolution
    Conv2DTranspose.call = _transpose_convolution
    Flatten.call = _flatten
    BatchNormalizationBase.build = _build_batch_normalization
    BatchNormalizationBase._fused_batch_norm = _normalize_fused
