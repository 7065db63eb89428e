"""The cells under the module name they had: ``tensorflow.contrib.rnn.python.ops.rnn_cell``."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops.rnn_cell_impl import assert_like_rnncell as _assert_like_rnncell

from danlu_runtime.tf1.contrib.rnn._gated_cells import (  # noqa: F401
    GLSTMCell,
    IndRNNCell,
    IndyGRUCell,
    IndyLSTMCell,
    IntersectionRNNCell,
    NASCell,
    PhasedLSTMCell,
    SRUCell,
    UGRNNCell,
)
from danlu_runtime.tf1.contrib.rnn._grid_cells import (  # noqa: F401
    BidirectionalGridLSTMCell,
    GridLSTMCell,
    TimeFreqLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn._lstm_cells import (  # noqa: F401
    Conv1DLSTMCell,
    Conv2DLSTMCell,
    Conv3DLSTMCell,
    ConvLSTMCell,
    CoupledInputForgetGateLSTMCell,
    LayerNormBasicLSTMCell,
    LayerNormLSTMCell,
    WeightNormLSTMCell,
)
from danlu_runtime.tf1.contrib.rnn.core_rnn_cell import _Linear, _linear  # noqa: F401

# Cells around cells: attention over the last outputs, highways, XLA.


class AttentionCellWrapper(tf.nn.rnn_cell.RNNCell):
    """Lets a cell attend to its own last ``attn_length`` outputs."""

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        _assert_like_rnncell("cell", cell)
        if isinstance(cell.state_size, tuple) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell = cell
        self._attn_length = attn_length
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._input_size = input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        size = (self._cell.state_size, self._attn_size, self._attn_size * self._attn_length)
        return size if self._state_is_tuple else sum(size)

    @property
    def output_size(self) -> int:
        return self._attn_size

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        length, size = self._attn_length, self._attn_size
        if not self._state_is_tuple:
            state = tf.split(state, [self._cell.state_size, size, size * length], 1)
        cell_state, attention, window = state
        window = tf.reshape(window, [-1, length, size])
        seen = [inputs, attention]
        inputs = _linear(seen, self._input_size or inputs.shape.as_list()[1], True)
        output, cell_state = self._cell(inputs, cell_state)
        query = tf.concat(tf.nest.flatten(cell_state), 1)
        attention = self._attend(query, window)
        with tf.variable_scope("attn_output_projection"):
            output = _linear([output, attention], size, True)
        window = tf.concat([window[:, 1:], tf.expand_dims(output, 1)], 1)
        new_state = (cell_state, attention, tf.reshape(window, [-1, length * size]))
        return output, new_state if self._state_is_tuple else tf.concat(new_state, 1)

    def _attend(self, query: tf.Tensor, window: tf.Tensor) -> tf.Tensor:
        length, size, vector = self._attn_length, self._attn_size, self._attn_vec_size
        with tf.variable_scope("attention"):
            k = tf.get_variable("attn_w", [1, 1, size, vector])
            v = tf.get_variable("attn_v", [vector])
            hidden = tf.reshape(window, [-1, length, 1, size])
            features = tf.nn.conv2d(hidden, k, strides=[1, 1, 1, 1], padding="SAME")
            y = tf.reshape(_linear(query, vector, True), [-1, 1, 1, vector])
            weights = tf.nn.softmax(tf.reduce_sum(v * tf.tanh(features + y), [2, 3]))
            mean = tf.reduce_sum(tf.reshape(weights, [-1, length, 1, 1]) * hidden, [1, 2])
            return tf.reshape(mean, [-1, size])


class _Wrapper(tf.nn.rnn_cell.RNNCell):
    def __init__(self, cell: Any) -> None:
        super().__init__()
        self._cell = cell

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with tf.name_scope(type(self).__name__ + "ZeroState"):
            return self._cell.zero_state(batch_size, dtype)


class HighwayWrapper(_Wrapper):
    """Mixes the input of a cell into its output by a learnt gate."""

    def __init__(
        self,
        cell: Any,
        couple_carry_transform_gates: bool = True,
        carry_bias_init: float = 1.0,
    ) -> None:
        super().__init__(cell)
        self._coupled = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        tf.nest.assert_same_structure(inputs, outputs)
        return tf.nest.map_structure(self._highway, inputs, outputs), new_state

    def _highway(self, inp: tf.Tensor, out: tf.Tensor) -> tf.Tensor:
        inp.shape.assert_is_compatible_with(out.shape)
        carry = self._gate("carry", inp, self._carry_bias_init)
        transform = 1 - carry
        if not self._coupled:
            transform = self._gate("transform", inp, -self._carry_bias_init)
        return inp * carry + out * transform

    @staticmethod
    def _gate(name: str, inp: tf.Tensor, bias: float) -> tf.Tensor:
        size = inp.shape.with_rank(2).as_list()[1]
        weight = tf.get_variable(f"{name}_w", [size, size])
        start = tf.constant_initializer(bias)
        return tf.sigmoid(
            tf.nn.xw_plus_b(inp, weight, tf.get_variable(f"{name}_b", [size], initializer=start))
        )


class CompiledWrapper(_Wrapper):
    """Asks XLA to compile the steps of a cell."""

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)
        self._compile_stateful = compile_stateful

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        def without_state(node: Any) -> bool:
            return not op_def_registry.get(node.op).is_stateful

        compiled: Any = True if self._compile_stateful else without_state
        with tf.xla.experimental.jit_scope(compile_ops=compiled):
            return self._cell(inputs, state, scope)
