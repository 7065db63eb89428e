"""What several cells share: variables in shards, layer normalisation, clipping, sizes."""

from typing import Any

import tensorflow.compat.v1 as tf


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
