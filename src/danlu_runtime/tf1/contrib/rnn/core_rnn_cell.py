"""The linear map and the cell wrappers that TensorFlow kept in contrib.

Variables are called ``kernel`` and ``bias`` in the scope of the caller, as in TensorFlow 1.15.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import assert_like_rnncell

_KERNEL, _BIAS = "kernel", "bias"


class _Linear:
    """A linear map of one or several matrices, whose variables are made once and used again."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        matrices = _matrices(args)
        dtype = matrices[0].dtype
        self._build_bias = build_bias
        with tf.variable_scope(tf.get_variable_scope()) as outer:
            self._weights = tf.get_variable(
                _KERNEL,
                [sum(_columns(matrix) for matrix in matrices), output_size],
                dtype=dtype,
                initializer=kernel_initializer,
            )
            if not build_bias:
                return
            with tf.variable_scope(outer) as inner:
                # A bias is never partitioned.
                inner.set_partitioner(None)
                if bias_initializer is None:
                    bias_initializer = tf.constant_initializer(0.0)
                self._biases = tf.get_variable(
                    _BIAS, [output_size], dtype=dtype, initializer=bias_initializer
                )

    def __call__(self, args: Any) -> tf.Tensor:
        matrices = _matrices(args)
        whole = matrices[0] if len(matrices) == 1 else tf.concat(matrices, 1)
        product = tf.matmul(whole, self._weights)
        return tf.nn.bias_add(product, self._biases) if self._build_bias else product


def _linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
    scope: Any = None,
) -> tf.Tensor:
    """Multiply and add in the present variable scope (or in ``scope``, as before 1.2)."""
    with tf.variable_scope(scope or tf.get_variable_scope()):
        return _Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def _matrices(args: Any) -> list[tf.Tensor]:
    if args is None or (isinstance(args, Sequence) and not args):
        raise ValueError("`args` must be specified")
    matrices = list(args) if isinstance(args, (list, tuple)) else [args]
    for matrix in matrices:
        if matrix.shape.ndims != 2:
            shapes = [each.shape for each in matrices]
            raise ValueError(f"linear is expecting 2D arguments: {shapes}")
    return matrices


def _columns(matrix: tf.Tensor) -> int:
    columns = matrix.shape.as_list()[1]
    if columns is None:
        raise ValueError(
            f"linear expects shape[1] to be provided for shape {matrix.shape}, but saw None"
        )
    return int(columns)


class EmbeddingWrapper(tf.nn.rnn_cell.RNNCell):
    """Looks the integer inputs of a cell up in a table ``embedding`` of its own."""

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._cell = cell
        self._embedding_classes = embedding_classes
        self._embedding_size = embedding_size
        self._initializer = initializer

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        side = math.sqrt(3)
        initializer = (
            self._initializer
            or tf.get_variable_scope().initializer
            or tf.random_uniform_initializer(-side, side)
        )
        with tf.device("/cpu:0"):
            embedding = tf.get_variable(
                "embedding",
                [self._embedding_classes, self._embedding_size],
                initializer=initializer,
                dtype=state[0].dtype if isinstance(state, tuple) else state.dtype,
            )
            embedded = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
            return self._cell(embedded, state)


class InputProjectionWrapper(tf.nn.rnn_cell.RNNCell):
    """Puts a linear map before a cell."""

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[[tf.Tensor], tf.Tensor] | None = None,
        input_size: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if input_size is not None:
            tf.logging.warn("%s: The input_size parameter is deprecated.", self)
        assert_like_rnncell("cell", cell)
        self._cell = cell
        self._num_proj = num_proj
        self._activation = activation
        self._linear: _Linear | None = None

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        if self._linear is None:
            self._linear = _Linear(inputs, self._num_proj, True)
        projected = self._linear(inputs)
        if self._activation:
            projected = self._activation(projected)
        return self._cell(projected, state)


class OutputProjectionWrapper(tf.nn.rnn_cell.RNNCell):
    """Puts a linear map behind a cell."""

    def __init__(
        self,
        cell: Any,
        output_size: int,
        activation: Callable[[tf.Tensor], tf.Tensor] | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._cell = cell
        self._output_size = output_size
        self._activation = activation
        self._linear: _Linear | None = None

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        return self._output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        output, next_state = self._cell(inputs, state)
        if self._linear is None:
            self._linear = _Linear(output, self._output_size, True)
        projected = self._linear(output)
        if self._activation:
            projected = self._activation(projected)
        return projected, next_state
