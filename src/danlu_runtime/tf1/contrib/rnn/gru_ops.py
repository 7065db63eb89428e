"""GRU cells that run one step as one operation."""

from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from danlu_runtime.tf1.contrib.rnn import _block_gradients

_block_gradients.register()


class GRUBlockCell(LayerRNNCell):
    """A GRU whose variables are ``w_ru``, ``b_ru``, ``w_c`` and ``b_c``."""

    _gate_names = ("w_ru", "b_ru")
    _candidate_names = ("w_c", "b_c")

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: bool | None = None,
        name: str = "gru_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name)
        given = [size for size in (num_units, cell_size) if size is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of num_units or cell_size must be provided.")
        self._cell_size = given[0]
        self.input_spec = tf.layers.InputSpec(ndim=2)

    @property
    def state_size(self) -> int:
        return self._cell_size

    @property
    def output_size(self) -> int:
        return self._cell_size

    def build(self, input_shape: Any) -> None:
        inputs = tf.TensorShape(input_shape).as_list()[1]
        if inputs is None:
            raise ValueError("Expecting input_size to be set.")
        rows, size = inputs + self._cell_size, self._cell_size
        gate_kernel, gate_bias = self._gate_names
        candidate_kernel, candidate_bias = self._candidate_names
        one, zero = tf.constant_initializer(1.0), tf.constant_initializer(0.0)
        self._gate_kernel = self.add_weight(gate_kernel, shape=[rows, size * 2])
        self._gate_bias = self.add_weight(gate_bias, shape=[size * 2], initializer=one)
        self._candidate_kernel = self.add_weight(candidate_kernel, shape=[rows, size])
        self._candidate_bias = self.add_weight(candidate_bias, shape=[size], initializer=zero)
        self.built = True

    def call(self, inputs: tf.Tensor, h_prev: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        *_, new_h = tf.raw_ops.GRUBlockCell(
            x=inputs,
            h_prev=h_prev,
            w_ru=self._gate_kernel,
            w_c=self._candidate_kernel,
            b_ru=self._gate_bias,
            b_c=self._candidate_bias,
        )
        return new_h, new_h


class GRUBlockCellV2(GRUBlockCell):
    """The same with the variable names of ``GRUCell``, so that checkpoints fit both."""

    _gate_names = ("gates/kernel", "gates/bias")
    _candidate_names = ("candidate/kernel", "candidate/bias")
