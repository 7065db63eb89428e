"""Cells with the variables and the arithmetic of cuDNN."""

from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from danlu_runtime.tf1.contrib.rnn.lstm_ops import LSTMBlockCell


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM as cuDNN computes it: without a forget bias, clipping or peepholes."""

    def __init__(self, num_units: int, reuse: bool | None = None) -> None:
        super().__init__(
            num_units,
            forget_bias=0,
            cell_clip=None,
            use_peephole=False,
            reuse=reuse,
            name="cudnn_compatible_lstm_cell",
        )


class CudnnCompatibleGRUCell(LayerRNNCell):
    """A GRU as cuDNN computes it: the reset gate acts after the product with the state."""

    def __init__(
        self,
        num_units: int,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._kernel_initializer = kernel_initializer

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        depth = tf.TensorShape(inputs_shape).as_list()[1]
        units, kernel = self._num_units, self._kernel_initializer
        ones, zeros = tf.constant_initializer(1.0), tf.zeros_initializer()
        self._gate_kernel = self.add_weight(
            "gates/kernel", shape=[depth + units, 2 * units], initializer=kernel
        )
        self._gate_bias = self.add_weight("gates/bias", shape=[2 * units], initializer=ones)
        self._sides = [
            (
                self.add_weight(
                    f"candidate/{side}_projection/kernel", shape=[size, units], initializer=kernel
                ),
                self.add_weight(
                    f"candidate/{side}_projection/bias", shape=[units], initializer=zeros
                ),
            )
            for side, size in (("input", depth), ("hidden", units))
        ]
        self.built = True

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gates = tf.matmul(tf.concat([inputs, state], 1), self._gate_kernel)
        r, u = tf.split(tf.sigmoid(tf.nn.bias_add(gates, self._gate_bias)), 2, 1)
        (kernel, bias), (recurrent, recurrent_bias) = self._sides
        new = tf.nn.bias_add(tf.matmul(inputs, kernel), bias)
        old = tf.nn.bias_add(tf.matmul(state, recurrent), recurrent_bias)
        new_h = (1 - u) * tf.tanh(new + r * old) + u * state
        return new_h, new_h
