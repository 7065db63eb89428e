"""LSTM cells with coupled gates, normalisation or convolutions."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _Linear, _linear

# What several cells share: variables in shards, layer normalisation, clipping, sizes.


class SizedCell(tf.nn.rnn_cell.RNNCell):
    """A cell whose sizes are set when it is made."""

    _sizes: tuple[Any, Any]

    @property
    def state_size(self) -> Any:
        return self._sizes[0]

    @property
    def output_size(self) -> Any:
        return self._sizes[1]


def lstm_sizes(num_units: int, num_proj: int | None) -> tuple[Any, int]:
    """Return the state and output size of an LSTM with an optional projection."""
    output = num_proj or num_units
    return tf.nn.rnn_cell.LSTMStateTuple(num_units, output), output


def columns(matrix: tf.Tensor) -> int:
    """Return the number of columns, which must be known when the graph is built."""
    size = matrix.shape.with_rank(2).as_list()[1]
    if size is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return int(size)


def rows(matrix: tf.Tensor) -> Any:
    """Return the batch size: an int where the graph knows it, a tensor where it does not."""
    size = matrix.shape.as_list()[0]
    return tf.shape(matrix)[0] if size is None else size


def sharded_variable(name: str, shape: list[int], dtype: Any, num_shards: int) -> tf.Tensor:
    """Return one matrix kept as ``num_shards`` variables ``name_0``, ``name_1``…"""
    if num_shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    size, more = divmod(shape[0], num_shards)
    shards = [
        tf.get_variable(f"{name}_{i}", [size + (i < more), *shape[1:]], dtype=dtype)
        for i in range(num_shards)
    ]
    return shards[0] if num_shards == 1 else tf.concat(shards, 0, name=f"{name}/concat")


def layer_norm(tensor: tf.Tensor, scope: str, gain: float, shift: float) -> tf.Tensor:
    """Normalise each row; the variables are ``scope/gamma`` and ``scope/beta``."""
    dtype = tensor.dtype
    with tf.variable_scope(scope):
        size = tensor.shape[-1:]
        gamma = tf.get_variable(
            "gamma", size, initializer=tf.constant_initializer(gain), dtype=dtype
        )
        beta = tf.get_variable(
            "beta", size, initializer=tf.constant_initializer(shift), dtype=dtype
        )
        mean, variance = tf.nn.moments(tensor, [1], keep_dims=True)
        # contrib.layers.layer_norm of 1.15 used these two numbers.
        epsilon = 1e-3 if dtype == tf.float16 else 1e-12
        return tf.nn.batch_normalization(tensor, mean, variance, beta, gamma, epsilon)


def clip(tensor: tf.Tensor, limit: float | None) -> tf.Tensor:
    """Clip to ``[-limit, limit]``, or leave as it is without a limit."""
    return tensor if limit is None else tf.clip_by_value(tensor, -limit, limit)


def diagonals(names: list[str], size: int, dtype: Any, used: bool) -> list[Any]:
    """Return peephole weights, or zeros of no effect where peepholes are off."""
    if not used:
        return [0.0] * len(names)
    return [tf.get_variable(name, [size], dtype=dtype) for name in names]


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

    def _project(self, m: tf.Tensor, size: int) -> tf.Tensor:
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
                    m = clip(self._project(m, self._num_proj), self._proj_clip)
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

    def _project(self, m: tf.Tensor, size: int) -> tf.Tensor:
        return _linear(m, size, False)


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

    def _project(self, m: tf.Tensor, size: int) -> tf.Tensor:
        return self._weighted([m], size, bias=False)

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


# LSTM cells whose linear map is a convolution over one, two or three dimensions.


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
