"""Cells with gates of their own kind, and cells of independent units."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from danlu_runtime.tf1.contrib.rnn._lstm_cells import SizedCell, columns, lstm_sizes
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _linear

_State = tf.nn.rnn_cell.LSTMStateTuple
_Activation = Callable[[tf.Tensor], tf.Tensor]


class NASCell(SizedCell):
    """The cell that a neural architecture search found (Zoph and Le, 2017)."""

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_biases: bool = False,
        reuse: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **options)
        self._num_units = num_units
        self._num_proj = num_proj
        self._use_biases = use_biases
        self._sizes = lstm_sizes(num_units, num_proj)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        c_prev, m_prev = state
        units, dtype = self._num_units, inputs.dtype
        recurrent = tf.get_variable("recurrent_kernel", [self.output_size, 8 * units], dtype)
        kernel = tf.get_variable("kernel", [columns(inputs), 8 * units], dtype)
        m_part = tf.matmul(m_prev, recurrent)
        if self._use_biases:
            bias = tf.get_variable("bias", [8 * units], dtype, tf.zeros_initializer())
            m_part = tf.nn.bias_add(m_part, bias)
        m = tf.split(m_part, 8, 1)
        x = tf.split(tf.matmul(inputs, kernel), 8, 1)
        first = tf.sigmoid(x[0] + m[0]) * tf.nn.relu(x[1] + m[1])
        second = tf.tanh(tf.sigmoid(x[2] + m[2]) + tf.nn.relu(x[3] * m[3]))
        third = tf.tanh(tf.tanh(x[4] + m[4]) * tf.sigmoid(x[5] + m[5]))
        fourth = tf.sigmoid(tf.tanh(x[6] + m[6]) + tf.sigmoid(x[7] + m[7]))
        new_c = tf.tanh(tf.tanh(first) + c_prev) * second
        new_m = tf.tanh(new_c * tf.tanh(third + fourth))
        if self._num_proj is not None:
            new_m = tf.matmul(
                new_m, tf.get_variable("projection_weights", [units, self._num_proj], dtype)
            )
        return new_m, _State(new_c, new_m)


class UGRNNCell(SizedCell):
    """A plain recurrent cell with one update gate (Collins and others, 2017)."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: _Activation = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._activation = activation
        self._sizes = (num_units, num_units)

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        columns(inputs)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            both = _linear(tf.concat([inputs, state], 1), 2 * self._num_units, True)
            gate, candidate = tf.split(both, 2, 1)
            g = tf.sigmoid(gate + self._forget_bias)
            new_state = g * state + (1.0 - g) * self._activation(candidate)
        return new_state, new_state


class IntersectionRNNCell(SizedCell):
    """A cell that gates its way through time and through depth (Collins and others, 2017)."""

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: _Activation = tf.nn.relu,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._initializer = initializer
        self._forget_bias = forget_bias
        self._num_input_proj = num_in_proj
        self._y_activation = y_activation
        self._sizes = (num_units, num_units)

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        units = self._num_units
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            if columns(inputs) != units:
                if not self._num_input_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, "
                        "num_in_proj should be set to num_units at cell init."
                    )
                with tf.variable_scope("in_projection"):
                    inputs = _linear(inputs, units, True)
            gates = _linear(tf.concat([inputs, state], 1), 4 * units, True)
            gate_h, h, gate_y, y = tf.split(gates, 4, 1)
            keep_h = tf.sigmoid(gate_h + self._forget_bias)
            keep_y = tf.sigmoid(gate_y + self._forget_bias)
            new_state = keep_h * state + (1.0 - keep_h) * tf.tanh(h)
            new_y = keep_y * inputs + (1.0 - keep_y) * self._y_activation(y)
        return new_y, new_state


class PhasedLSTMCell(SizedCell):
    """An LSTM whose gates open in rhythms; its inputs are ``(times, features)``."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._leak = leak
        self._ratio_on = ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._period_range = (math.log(period_init_min), math.log(period_init_max))
        self._sizes = lstm_sizes(num_units, None)

    def call(self, inputs: tuple[tf.Tensor, tf.Tensor], state: Any) -> tuple[tf.Tensor, Any]:
        time, x = inputs
        c_prev, h_prev = state
        seen = [x, h_prev]
        with tf.variable_scope("mask_gates"):
            masked = [*seen, c_prev] if self._use_peepholes else seen
            gates = tf.sigmoid(_linear(masked, 2 * self._num_units, True))
            let_in, keep = tf.split(gates, 2, 1)
        with tf.variable_scope("new_input"):
            new_input = tf.tanh(_linear(seen, self._num_units, True))
        new_c = c_prev * keep + let_in * new_input
        with tf.variable_scope("output_gate"):
            masked = [*seen, new_c] if self._use_peepholes else seen
            new_h = tf.tanh(new_c) * tf.sigmoid(_linear(masked, self._num_units, True))
        k = self._openness(time)
        new_c = k * new_c + (1 - k) * c_prev
        new_h = k * new_h + (1 - k) * h_prev
        return new_h, _State(new_c, new_h)

    def _openness(self, time: tf.Tensor) -> tf.Tensor:
        """Return how far each unit is open at ``time``: a ramp up, a ramp down, then a leak."""
        size = [self._num_units]
        low, high = self._period_range
        period = tf.get_variable(
            "period",
            initializer=lambda: tf.exp(tf.random_uniform(size, low, high)),
        )
        phase = tf.get_variable(
            "phase",
            initializer=lambda: tf.random_uniform(size) * period.initial_value,
        )
        ratio_on = tf.get_variable(
            "ratio_on",
            size,
            initializer=tf.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )
        period = tf.cast(period, time.dtype)
        shifted = time - tf.cast(phase, time.dtype)
        # The modulo with the gradient of its argument.
        within = tf.stop_gradient(tf.mod(shifted, period) - shifted) + shifted
        cycle = tf.cast(within / period, tf.float32)
        up = 2 * cycle / ratio_on
        k = tf.where(cycle < ratio_on, 2 - up, self._leak * cycle)
        return tf.where(cycle < 0.5 * ratio_on, up, k)


class GLSTMCell(SizedCell):
    """An LSTM in groups that see only their own part of the input and of the state."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: _Activation = tf.tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        for name, size in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if size % number_of_groups:
                raise ValueError(f"{name} must be divisible by number_of_groups")
        self._num_units = num_units
        self._initializer = initializer
        self._num_proj = num_proj
        self._forget_bias = forget_bias
        self._activation = activation
        self._number_of_groups = number_of_groups
        self._sizes = lstm_sizes(num_units, num_proj)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        c_prev, m_prev = state
        groups, units = self._number_of_groups, self._num_units
        if columns(inputs) % groups:
            raise ValueError(
                f"input size ({columns(inputs)}) must be divisible by number_of_groups ({groups})"
            )
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            parts = []
            x_parts, m_parts = tf.split(inputs, groups, 1), tf.split(m_prev, groups, 1)
            for group, pair in enumerate(zip(x_parts, m_parts, strict=True)):
                with tf.variable_scope(f"group{group}"):
                    gates = _linear(tf.concat(pair, 1), 4 * units // groups, False)
                    parts.append(tf.split(gates, 4, 1))
            i, j, f, o = (
                tf.nn.bias_add(
                    tf.concat(pieces, 1),
                    tf.get_variable(
                        f"bias_{name}", [units], inputs.dtype, tf.constant_initializer(0.0)
                    ),
                )
                for name, pieces in zip("ijfo", zip(*parts, strict=True), strict=True)
            )
            c = tf.sigmoid(f + self._forget_bias) * c_prev + tf.sigmoid(i) * tf.tanh(j)
            m = tf.sigmoid(o) * self._activation(c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    m = _linear(m, self._num_proj, False)
        return m, _State(c, m)


# Cells whose units do not see each other's state: one recurrent weight a unit.


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
