"""LSTM cells with coupled gates, normalisation or groups."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.cell_parts import (
    SizedCell,
    clip,
    columns,
    diagonals,
    layer_norm,
    lstm_sizes,
    sharded_variable,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _Linear, _linear

_State = tf.nn.rnn_cell.LSTMStateTuple
_Activation = Callable[[tf.Tensor], tf.Tensor]


class CoupledInputForgetGateLSTMCell(SizedCell):
    """An LSTM whose input gate is one minus its forget gate."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: _Activation = tf.tanh,
        reuse: bool | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._activation = activation
        self._layer_norm = layer_norm
        self._norm = (norm_gain, norm_shift)
        state, output = lstm_sizes(num_units, num_proj)
        self._sizes = (state if state_is_tuple else num_units + output, output)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        units, output_size, dtype = self._num_units, self.output_size, inputs.dtype
        c_prev, m_prev = state if self._state_is_tuple else tf.split(state, [units, output_size], 1)
        kernel = sharded_variable(
            "W", [columns(inputs) + output_size, 3 * units], dtype, self._shards[0]
        )
        bias = tf.get_variable("B", [3 * units], dtype, tf.zeros_initializer())
        product = tf.matmul(tf.concat([inputs, m_prev], 1), kernel)
        # A normalised product has its own shift: the bias exists but is not added.
        gates = product if self._layer_norm else tf.nn.bias_add(product, bias)
        j, f, o = tf.split(gates, 3, 1)
        if self._layer_norm:
            j = layer_norm(j, "transform", *self._norm)
            f = layer_norm(f, "forget", *self._norm)
            o = layer_norm(o, "output", *self._norm)
        w_f, w_o = diagonals(["W_F_diag", "W_O_diag"], units, dtype, self._use_peepholes)
        forget = tf.sigmoid(f + self._forget_bias + w_f * c_prev)
        c = forget * c_prev + (1 - forget) * self._activation(j)
        if self._layer_norm:
            c = layer_norm(c, "state", *self._norm)
        m = tf.sigmoid(o + w_o * c) * self._activation(c)
        if self._num_proj is not None:
            projection = sharded_variable("W_P", [units, self._num_proj], dtype, self._shards[1])
            m = clip(tf.matmul(m, projection), self._proj_clip)
        return m, _State(c, m) if self._state_is_tuple else tf.concat([c, m], 1)


class LayerNormBasicLSTMCell(SizedCell):
    """An LSTM with layer normalisation and dropout of its new input."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: int | None = None,
        activation: _Activation = tf.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if input_size is not None:
            tf.logging.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units = num_units
        self._activation = activation
        self._forget_bias = forget_bias
        self._keep_prob = dropout_keep_prob
        self._seed = dropout_prob_seed
        self._layer_norm = layer_norm
        self._norm = (norm_gain, norm_shift)
        self._sizes = lstm_sizes(num_units, None)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        c, h = state
        both = tf.concat([inputs, h], 1)
        kernel = tf.get_variable(
            "kernel", [both.shape.as_list()[-1], 4 * self._num_units], both.dtype
        )
        gates = tf.matmul(both, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(
                gates, tf.get_variable("bias", [4 * self._num_units], both.dtype)
            )
        i, j, f, o = tf.split(gates, 4, 1)
        if self._layer_norm:
            i = layer_norm(i, "input", *self._norm)
            j = layer_norm(j, "transform", *self._norm)
            f = layer_norm(f, "forget", *self._norm)
            o = layer_norm(o, "output", *self._norm)
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        if self._layer_norm:
            new_c = layer_norm(new_c, "state", *self._norm)
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, _State(new_c, new_h)


class _FullLSTMCell(SizedCell):
    """An LSTM with peepholes, clipping and projection; a subclass gives gates and projection."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool,
        cell_clip: float | None,
        initializer: Any,
        num_proj: int | None,
        proj_clip: float | None,
        forget_bias: float,
        activation: _Activation | None,
        reuse: bool | None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._forget_bias = forget_bias
        self._activation = activation or tf.tanh
        self._sizes = lstm_sizes(num_units, num_proj)

    def _gates(self, inputs: tf.Tensor, m_prev: tf.Tensor) -> list[tf.Tensor]:
        raise NotImplementedError

    def _project(self, m: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def _new_state(self, c: tf.Tensor) -> tf.Tensor:
        return c

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        c_prev, m_prev = state
        columns(inputs)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            i, j, f, o = self._gates(inputs, m_prev)
            w_f, w_i, w_o = diagonals(
                ["w_f_diag", "w_i_diag", "w_o_diag"],
                self._num_units,
                inputs.dtype,
                self._use_peepholes,
            )
            kept = tf.sigmoid(f + self._forget_bias + w_f * c_prev) * c_prev
            c = kept + tf.sigmoid(i + w_i * c_prev) * self._activation(j)
            c = clip(self._new_state(c), self._cell_clip)
            m = tf.sigmoid(o + w_o * c) * self._activation(c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    m = clip(self._project(m), self._proj_clip)
        return m, _State(c, m)


class LayerNormLSTMCell(_FullLSTMCell):
    """An LSTM with layer normalisation, peepholes, clipping and projection."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: _Activation | None = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse,
        )
        self._layer_norm = layer_norm
        self._norm = (norm_gain, norm_shift)

    def _gates(self, inputs: tf.Tensor, m_prev: tf.Tensor) -> list[tf.Tensor]:
        linear = _Linear([inputs, m_prev], 4 * self._num_units, True)
        if not self._layer_norm:
            return tf.split(linear([inputs, m_prev]), 4, 1)
        # As in 1.15 the bias exists (checkpoints have it) and is not added before a normalisation.
        product = tf.matmul(tf.concat([inputs, m_prev], 1), linear._weights)
        scopes = ("input", "transform", "forget", "output")
        parts = tf.split(product, 4, 1)
        return [
            layer_norm(part, scope, *self._norm) for part, scope in zip(parts, scopes, strict=True)
        ]

    def _new_state(self, c: tf.Tensor) -> tf.Tensor:
        return layer_norm(c, "state", *self._norm) if self._layer_norm else c

    def _project(self, m: tf.Tensor) -> tf.Tensor:
        return _linear(m, self._num_proj, False)


class WeightNormLSTMCell(_FullLSTMCell):
    """An LSTM whose weight columns have length one, times a learnt gain."""

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: _Activation | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(
            num_units,
            use_peepholes,
            cell_clip,
            initializer,
            num_proj,
            proj_clip,
            forget_bias,
            activation,
            reuse,
        )
        self._norm = norm

    def _gates(self, inputs: tf.Tensor, m_prev: tf.Tensor) -> list[tf.Tensor]:
        return tf.split(self._weighted([inputs, m_prev], 4 * self._num_units, bias=True), 4, 1)

    def _project(self, m: tf.Tensor) -> tf.Tensor:
        return self._weighted([m], self._num_proj, bias=False)

    def _weighted(self, args: list[tf.Tensor], size: int, bias: bool) -> tf.Tensor:
        dtype = args[0].dtype
        heights = [columns(arg) for arg in args]
        weights = tf.get_variable("kernel", [sum(heights), size], dtype)
        if self._norm:
            parts = tf.split(weights, heights, 0)
            gains = [tf.get_variable(f"norm_{i}", [size], dtype) for i in range(len(parts))]
            weights = tf.concat(
                [
                    tf.nn.l2_normalize(part, 0) * gain
                    for part, gain in zip(parts, gains, strict=True)
                ],
                0,
            )
        product = tf.matmul(tf.concat(args, 1), weights)
        if not bias:
            return product
        zeros = tf.constant_initializer(0.0)
        return tf.nn.bias_add(product, tf.get_variable("bias", [size], dtype, zeros))
