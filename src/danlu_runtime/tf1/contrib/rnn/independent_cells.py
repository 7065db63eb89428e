"""Cells whose units do not see each other's state: one recurrent weight a unit."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

_State = tf.nn.rnn_cell.LSTMStateTuple
_Activation = Callable[[tf.Tensor], tf.Tensor]


class _IndependentCell(LayerRNNCell):
    def __init__(
        self,
        num_units: int,
        activation: _Activation | None,
        reuse: bool | None,
        name: str | None,
        dtype: Any,
        **options: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **options)
        self.input_spec = tf.layers.InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation or tf.tanh

    @property
    def state_size(self) -> Any:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def _weights(
        self, prefix: str, depth: int, gates: int, kernel: Any = None, bias: Any = None
    ) -> tuple[tf.Variable, tf.Variable, tf.Variable]:
        size = gates * self._num_units
        one = tf.random_uniform_initializer(minval=-1, maxval=1)
        return (
            self.add_weight(f"{prefix}kernel_w", shape=[depth, size], initializer=kernel),
            self.add_weight(f"{prefix}kernel_u", shape=[1, size], initializer=one),
            self.add_weight(
                f"{prefix}bias", shape=[size], initializer=bias or tf.zeros_initializer()
            ),
        )


def _apply(weights: Any, inputs: tf.Tensor, state: tf.Tensor, gates: int) -> tf.Tensor:
    kernel, recurrent, bias = weights
    product = tf.matmul(inputs, kernel) + tf.tile(state, [1, gates]) * recurrent
    return tf.nn.bias_add(product, bias)


def _depth(inputs_shape: Any) -> int:
    depth = tf.TensorShape(inputs_shape).as_list()[1]
    if depth is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
    return int(depth)


class IndRNNCell(_IndependentCell):
    """An independently recurrent cell (Li and others, 2018)."""

    def __init__(
        self,
        num_units: int,
        activation: _Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)

    def build(self, inputs_shape: Any) -> None:
        self._cell_weights = self._weights("", _depth(inputs_shape), 1)
        self.built = True

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        output = self._activation(_apply(self._cell_weights, inputs, state, 1))
        return output, output


class IndyGRUCell(_IndependentCell):
    """A GRU of independent units."""

    def __init__(
        self,
        num_units: int,
        activation: _Activation | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._initializers = (kernel_initializer, bias_initializer)

    def build(self, inputs_shape: Any) -> None:
        depth = _depth(inputs_shape)
        kernel, bias = self._initializers
        open_gate = bias or tf.constant_initializer(1.0)
        self._gate_weights = self._weights("gates/", depth, 2, kernel, open_gate)
        self._candidate_weights = self._weights("candidate/", depth, 1, kernel, bias)
        self.built = True

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        gates = tf.sigmoid(_apply(self._gate_weights, inputs, state, 2))
        r, u = tf.split(gates, 2, 1)
        c = self._activation(_apply(self._candidate_weights, inputs, r * state, 1))
        new_h = u * state + (1 - u) * c
        return new_h, new_h


class IndyLSTMCell(_IndependentCell):
    """An LSTM of independent units."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: _Activation | None = None,
        reuse: bool | None = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._forget_bias = forget_bias
        self._initializers = (kernel_initializer, bias_initializer)

    @property
    def state_size(self) -> Any:
        return _State(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        self._cell_weights = self._weights("", _depth(inputs_shape), 4, *self._initializers)
        self.built = True

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        c, h = state
        i, j, f, o = tf.split(_apply(self._cell_weights, inputs, h, 4), 4, 1)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * self._activation(j)
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, _State(new_c, new_h)


class SRUCell(_IndependentCell):
    """A simple recurrent unit (Lei and Zhang, 2017): only its cell state is recurrent."""

    def __init__(
        self,
        num_units: int,
        activation: _Activation | None = None,
        reuse: bool | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, None, **options)

    def build(self, inputs_shape: Any) -> None:
        size = self._num_units
        self._kernel = self.add_weight("kernel", shape=[_depth(inputs_shape), 4 * size])
        zeros = tf.constant_initializer(0.0)
        self._bias = self.add_weight("bias", shape=[2 * size], initializer=zeros)
        self.built = True

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        x, f_part, r_part, highway = tf.split(tf.matmul(inputs, self._kernel), 4, 1)
        gates = tf.sigmoid(tf.nn.bias_add(tf.concat([f_part, r_part], 1), self._bias))
        f, r = tf.split(gates, 2, 1)
        c = f * state + (1.0 - f) * x
        return r * self._activation(c) + (1.0 - r) * highway, c
