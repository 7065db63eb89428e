"""LSTM cells that run a step, or a whole sequence, as one operation."""

import abc
from typing import Any

import tensorflow.compat.v1 as tf
from tf_keras.src.layers.rnn.legacy_cells import LayerRNNCell

from danlu_runtime.tf1.contrib.rnn import _block_gradients

_block_gradients.register()

_PEEPHOLES = {"wci": "w_i_diag", "wcf": "w_f_diag", "wco": "w_o_diag"}


class LSTMBlockCell(LayerRNNCell):
    """One LSTM step as one operation; the weights fit ``BasicLSTMCell``."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        super().__init__(_reuse=reuse, dtype=dtype, name=name)
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._cell_clip = -1.0 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole
        self.input_spec = tf.layers.InputSpec(ndim=2)

    @property
    def state_size(self) -> Any:
        return tf.nn.rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        _build_lstm(self, tf.TensorShape(inputs_shape).as_list()[1])

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        if len(state) != 2:
            raise ValueError("Expecting state to be a tuple with length 2.")
        _, cs, _, _, _, _, h = tf.raw_ops.LSTMBlockCell(
            x=inputs,
            cs_prev=state[0],
            h_prev=state[1],
            w=self._kernel,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **_peepholes(self, inputs.dtype),
        )
        return h, tf.nn.rnn_cell.LSTMStateTuple(cs, h)


class LSTMBlockWrapper(tf.layers.Layer):
    """What every LSTM over whole sequences shares: initial states, lengths and final states."""

    @property
    @abc.abstractmethod
    def num_units(self) -> int:
        """The number of units of the cell."""

    @abc.abstractmethod
    def _call_cell(
        self,
        inputs: tf.Tensor,
        initial_cell_state: tf.Tensor,
        initial_output: tf.Tensor,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the cell states and the outputs of every step, time first."""

    def call(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
    ) -> tuple[Any, Any]:
        """Run over ``inputs`` (time first; a tensor or a list of matrices)."""
        as_list = isinstance(inputs, list)
        inputs = tf.stack(inputs) if as_list else inputs
        if inputs.shape.ndims != 3:
            raise ValueError(f"Expecting inputs_shape to be of rank 3, got {inputs.shape}.")
        dtype = _state_dtype(initial_state, dtype)
        time, batch = (_size(inputs, axis) for axis in (0, 1))
        if initial_state is None:
            zeros = tf.zeros(tf.stack([batch, self.num_units]), dtype=dtype)
            initial_state = (zeros, zeros)
        if len(initial_state) != 2:
            raise ValueError(
                "Expecting initial_state to be a tuple with length 2 or None, "
                f"got {len(initial_state)} elements."
            )
        initial_cell, initial_output = initial_state
        if sequence_length is not None:
            sequence_length = tf.convert_to_tensor(sequence_length)
        cells, outputs = self._call_cell(
            inputs, initial_cell, initial_output, dtype, sequence_length
        )
        if sequence_length is None:
            final_cell, final_output = cells[-1], outputs[-1]
        else:
            mask = tf.sequence_mask(sequence_length, time, dtype=outputs.dtype)
            outputs *= tf.expand_dims(tf.transpose(mask), 2)
            final_cell = _at_length(initial_cell, cells, sequence_length)
            final_output = _at_length(initial_output, outputs, sequence_length)
        final = tf.nn.rnn_cell.LSTMStateTuple(final_cell, final_output)
        return (tf.unstack(outputs) if as_list else outputs), final


class LSTMBlockFusedCell(LSTMBlockWrapper):
    """An LSTM over a whole sequence as one operation; the weights fit ``BasicLSTMCell``."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: bool | None = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self._forget_bias = forget_bias
        self._num_units = num_units
        self._cell_clip = -1.0 if cell_clip is None else cell_clip
        self._use_peephole = use_peephole

    @property
    def num_units(self) -> int:
        return self._num_units

    def build(self, input_shape: Any) -> None:
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        _build_lstm(self, tf.TensorShape(shape).as_list()[-1])

    def _call_cell(
        self,
        inputs: tf.Tensor,
        initial_cell_state: tf.Tensor,
        initial_output: tf.Tensor,
        dtype: Any,
        sequence_length: Any,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        if sequence_length is None:
            longest = tf.cast(_size(inputs, 0), tf.int64)
        else:
            longest = tf.cast(tf.reduce_max(sequence_length), tf.int64)
        _, cells, _, _, _, _, outputs = tf.raw_ops.BlockLSTM(
            seq_len_max=longest,
            x=inputs,
            cs_prev=initial_cell_state,
            h_prev=initial_output,
            w=self._kernel,
            b=self._bias,
            forget_bias=self._forget_bias,
            cell_clip=self._cell_clip,
            use_peephole=self._use_peephole,
            **_peepholes(self, inputs.dtype),
        )
        return cells, outputs


def _build_lstm(layer: Any, inputs: int | None) -> None:
    if inputs is None:
        raise ValueError("Expecting the last dimension of the inputs to be set, got None.")
    units = layer._num_units
    layer._kernel = layer.add_weight("kernel", shape=[inputs + units, units * 4])
    layer._bias = layer.add_weight(
        "bias", shape=[units * 4], initializer=tf.constant_initializer(0.0)
    )
    if layer._use_peephole:
        for attribute, name in _PEEPHOLES.items():
            setattr(layer, f"_{attribute}", layer.add_weight(name, shape=[units]))
    layer.built = True


def _peepholes(layer: Any, dtype: Any) -> dict[str, tf.Tensor]:
    if layer._use_peephole:
        return {name: getattr(layer, f"_{name}") for name in _PEEPHOLES}
    zeros = tf.zeros([layer._num_units], dtype=dtype)
    return dict.fromkeys(_PEEPHOLES, zeros)


def _state_dtype(initial_state: Any, dtype: Any) -> Any:
    if initial_state is not None:
        return initial_state[0].dtype
    if dtype is None:
        raise ValueError("Either initial_state or dtype needs to be specified")
    return dtype


def _size(tensor: tf.Tensor, axis: int) -> Any:
    static = tensor.shape.as_list()[axis]
    return tf.shape(tensor)[axis] if static is None else static


def _at_length(initial: tf.Tensor, steps: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return of each row the value after its last valid step: the initial one for a length of 0."""
    values = tf.concat([tf.expand_dims(initial, 0), steps], 0)
    lengths = tf.cast(lengths, tf.int32)
    final = tf.gather_nd(values, tf.stack([lengths, tf.range(tf.shape(lengths)[0])], 1))
    final.set_shape(initial.shape)
    return final
