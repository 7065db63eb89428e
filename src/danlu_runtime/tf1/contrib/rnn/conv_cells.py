"""LSTM cells whose linear map is a convolution over one, two or three dimensions."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.cell_parts import SizedCell

_State = tf.nn.rnn_cell.LSTMStateTuple


class ConvLSTMCell(SizedCell):
    """A convolutional LSTM (Shi and others, 2015) over ``input_shape``, channels last."""

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims = conv_ndims
        self._output_channels = output_channels
        self._kernel_shape = tuple(kernel_shape)
        self._use_bias = use_bias
        self._skip_connection = skip_connection
        self._forget_bias = forget_bias
        places, channels = list(input_shape[:-1]), input_shape[-1]
        state = tf.TensorShape([*places, output_channels])
        seen = output_channels + (channels if skip_connection else 0)
        self._sizes = (_State(state, state), tf.TensorShape([*places, seen]))

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        cell, hidden = state
        gates = self._convolve(tf.concat([inputs, hidden], self._conv_ndims + 1))
        let_in, new_input, keep, let_out = tf.split(gates, 4, self._conv_ndims + 1)
        new_cell = tf.sigmoid(keep + self._forget_bias) * cell
        new_cell += tf.sigmoid(let_in) * tf.tanh(new_input)
        output = tf.tanh(new_cell) * tf.sigmoid(let_out)
        if self._skip_connection:
            output = tf.concat([output, inputs], -1)
        return output, _State(new_cell, output)

    def _convolve(self, tensor: tf.Tensor) -> tf.Tensor:
        features = 4 * self._output_channels
        shape = [*self._kernel_shape, tensor.shape.as_list()[-1], features]
        kernel = tf.get_variable("kernel", shape, dtype=tensor.dtype)
        product = tf.nn.convolution(tensor, kernel, padding="SAME")
        if not self._use_bias:
            return product
        zeros = tf.constant_initializer(0.0)
        return product + tf.get_variable(
            "biases", [features], dtype=tensor.dtype, initializer=zeros
        )


class Conv1DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over one dimension."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **options)


class Conv2DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over two dimensions."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **options)


class Conv3DLSTMCell(ConvLSTMCell):
    """A convolutional LSTM over three dimensions."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **options: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **options)
