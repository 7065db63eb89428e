"""Layers of cuDNN, computed with plain operations on CPUs and GPUs.

TensorFlow 1.15 kept all weights of a layer in one buffer, in a form that depends on the GPU. Its
checkpoints have the weights of each cell, under the names of the cells. The layers here have these
variables, so that both directions of a checkpoint work: a model that was trained on a GPU is
restored here.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported

State = tuple[tf.Tensor, ...]


class _CudnnRNN(tf.layers.Layer):
    """Recurrent layers on top of each other, in one direction or both."""

    _rnn_mode = ""
    _cell_name = ""
    _states = 1

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        dropout: float = 0.0,
        seed: int | None = None,
        dtype: Any = tf.float32,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if direction not in ("unidirectional", "bidirectional"):
            raise ValueError(
                f"Invalid direction: {direction}, expecting unidirectional or bidirectional"
            )
        if input_mode not in ("linear_input", "skip_input", "auto_select"):
            raise ValueError(
                f"Invalid input_mode: {input_mode}, expect one of linear_input, skip_input, "
                "auto_select"
            )
        if dtype not in (tf.float16, tf.float32, tf.float64):
            raise ValueError(f"Only support float16, float32, float64, provided {dtype}")
        self._num_layers = num_layers
        self._num_units = num_units
        self._input_mode = input_mode
        self._direction = direction
        self._dropout = dropout
        self._seed = seed
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer
        self._input_size: int | None = None
        self._cells: list[list[list[Any]]] = []  # layer, direction, weight

    @property
    def num_layers(self) -> int:
        return self._num_layers

    @property
    def num_units(self) -> int:
        return self._num_units

    @property
    def input_mode(self) -> str:
        return self._input_mode

    @property
    def rnn_mode(self) -> str:
        return self._rnn_mode

    @property
    def direction(self) -> str:
        return self._direction

    @property
    def num_dirs(self) -> int:
        return 1 if self._direction == "unidirectional" else 2

    @property
    def input_size(self) -> int:
        if not self._input_size:
            raise ValueError("'input_size' is unknown since layer has not been built.")
        return self._input_size

    @property
    def saveable(self) -> None:
        """Return None: the variables are saved as they are."""
        return

    def build(self, input_shape: Any) -> None:
        """Create the variables.

        Raises:
            Unsupported: the first layer has no weights for its inputs.
        """
        if self._cells:
            return
        shape = tf.TensorShape(input_shape)
        if shape.rank != 3:
            raise ValueError(f"Expecting input_shape with 3 dims, got {shape.rank}")
        size = tf.compat.dimension_value(shape[-1])
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `CudnnRNN` should be defined. Found `None`."
            )
        self._input_size = size
        skips = {"skip_input": True, "auto_select": size == self._num_units}
        if skips.get(self._input_mode, False):
            raise Unsupported.from_key("tf1.cudnn_skip_input")
        if self._kernel_initializer is None:
            self._kernel_initializer = tf.glorot_uniform_initializer(self._seed, self.dtype)
        if self._bias_initializer is None:
            self._bias_initializer = tf.constant_initializer(0.0, self.dtype)
        for layer in range(self._num_layers):
            self._cells.append([self._new_cell(path, size) for path in self._paths(layer)])
            size = self._num_units * self.num_dirs
        self.built = True

    def _paths(self, layer: int) -> list[str]:
        if self.num_dirs == 1:
            return [f"rnn/multi_rnn_cell/cell_{layer}/{self._cell_name}"]
        above = f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn"
        return [f"{above}/{side}/{self._cell_name}" for side in ("fw", "bw")]

    def _new_cell(self, path: str, size: int) -> list[Any]:
        raise NotImplementedError

    def _kernel(self, name: str, sizes: Sequence[int], gates: int) -> Any:
        """Return weights whose gates are initialized one by one, as cuDNN has them."""
        units = self._num_units

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
            made = [
                [self._kernel_initializer([units, size], dtype=dtype) for _ in range(gates)]
                for size in sizes
            ]
            return tf.concat([tf.transpose(tf.concat(side, 0)) for side in made], 0)

        return self._variable(name, [sum(sizes), gates * units], initial)

    def _bias(self, name: str, gates: int, parts: int) -> Any:
        """Return a bias that is the sum of ``parts`` biases of cuDNN."""

        def initial(shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
            return tf.add_n([self._bias_initializer(shape, dtype=dtype) for _ in range(parts)])

        return self._variable(name, [gates * self._num_units], initial)

    def _variable(self, name: str, shape: list[int], initial: Callable[..., tf.Tensor]) -> Any:
        # The scope is the caller's, as in 1.15: that of the layer, if the layer is called.
        made = tf.get_variable(name, shape, self.dtype, initial)
        self._trainable_weights.append(made)
        return made

    def call(
        self,
        inputs: Any,
        initial_state: State | None = None,
        sequence_lengths: Any = None,
        time_major: bool = True,
        training: bool = True,
    ) -> tuple[tf.Tensor, State]:
        """Return the outputs and the last states of all layers and directions."""
        if initial_state is not None and not isinstance(initial_state, tuple):
            raise TypeError(f"Invalid initial_state type: {initial_state}, expecting tuple.")
        outputs = tf.convert_to_tensor(inputs, self.dtype)
        if not time_major:
            outputs = tf.transpose(outputs, [1, 0, 2])
        if initial_state is None:
            shapes = self.state_shape(tf.shape(outputs)[1])
            initial_state = tuple(tf.zeros(shape, self.dtype) for shape in shapes)
        elif not time_major:
            initial_state = tuple(tf.transpose(state, [1, 0, 2]) for state in initial_state)
        before = [tf.unstack(state, self._num_layers * self.num_dirs) for state in initial_state]
        after: list[State] = []
        for layer, cells in enumerate(self._cells):
            if layer and training and self._dropout:
                outputs = tf.nn.dropout(outputs, rate=self._dropout, seed=self._seed)
            sides = []
            for side, weights in enumerate(cells):
                state = tuple(states[layer * self.num_dirs + side] for states in before)
                made, last = self._run(outputs, state, weights, sequence_lengths, side == 1)
                sides.append(made)
                after.append(last)
            outputs = tf.concat(sides, 2) if len(sides) > 1 else sides[0]
        states = tuple(tf.stack(list(each)) for each in zip(*after, strict=True))
        if not time_major:
            outputs = tf.transpose(outputs, [1, 0, 2])
            states = tuple(tf.transpose(state, [1, 0, 2]) for state in states)
        return outputs, states

    def _run(
        self, inputs: tf.Tensor, state: State, weights: list[Any], lengths: Any, is_backward: bool
    ) -> tuple[tf.Tensor, State]:
        cell = _Cell(self._step, weights, self._num_units, self._states)
        if is_backward:
            inputs = _turned(inputs, lengths)
        started = state if self._states > 1 else state[0]
        outputs, last = tf.nn.dynamic_rnn(
            cell, inputs, sequence_length=lengths, initial_state=started, time_major=True
        )
        if is_backward:
            outputs = _turned(outputs, lengths)
        return outputs, last if self._states > 1 else (last,)

    def _step(self, x: tf.Tensor, state: State, weights: list[Any]) -> State:
        raise NotImplementedError

    def state_shape(self, batch_size: Any) -> tuple[list[Any], ...]:
        """Return the shape of each state."""
        shape = [self._num_layers * self.num_dirs, batch_size, self._num_units]
        return tuple([shape] * self._states)


class _Cell(tf.nn.rnn_cell.RNNCell):
    """One step of a direction; its weights belong to the layer."""

    def __init__(self, step: Any, weights: list[Any], units: int, states: int) -> None:
        super().__init__()
        self._step = step
        self._of_layer = weights
        self._units = units
        self._count = states

    @property
    def state_size(self) -> Any:
        return (self._units,) * self._count if self._count > 1 else self._units

    @property
    def output_size(self) -> int:
        return self._units

    def __call__(self, inputs: Any, state: Any, *_: Any, **__: Any) -> Any:
        new = self._step(inputs, state if self._count > 1 else (state,), self._of_layer)
        return new[0], new if self._count > 1 else new[0]


def _turned(rows: tf.Tensor, lengths: Any) -> tf.Tensor:
    if lengths is None:
        return tf.reverse(rows, [0])
    return tf.reverse_sequence(rows, lengths, seq_axis=0, batch_axis=1)


class CudnnLSTM(_CudnnRNN):
    """An LSTM; its states are the outputs and the cells."""

    _rnn_mode = "lstm"
    _cell_name = "cudnn_compatible_lstm_cell"
    _states = 2

    def _new_cell(self, path: str, size: int) -> list[Any]:
        kernel = self._kernel(f"{path}/kernel", [size, self._num_units], 4)
        return [kernel, self._bias(f"{path}/bias", 4, 2)]

    def _step(self, x: tf.Tensor, state: State, weights: list[Any]) -> State:
        h, c = state
        kernel, bias = weights
        gates = tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), bias)
        i, candidate, f, o = tf.split(gates, 4, 1)
        c = tf.sigmoid(i) * tf.tanh(candidate) + tf.sigmoid(f) * c
        return tf.sigmoid(o) * tf.tanh(c), c


class CudnnGRU(_CudnnRNN):
    """A GRU whose reset gate acts after the product with the state."""

    _rnn_mode = "gru"
    _cell_name = "cudnn_compatible_gru_cell"

    def _new_cell(self, path: str, size: int) -> list[Any]:
        units = self._num_units
        candidate = f"{path}/candidate"
        return [
            self._kernel(f"{path}/gates/kernel", [size, units], 2),
            self._bias(f"{path}/gates/bias", 2, 2),
            self._kernel(f"{candidate}/input_projection/kernel", [size], 1),
            self._bias(f"{candidate}/input_projection/bias", 1, 1),
            self._kernel(f"{candidate}/hidden_projection/kernel", [units], 1),
            self._bias(f"{candidate}/hidden_projection/bias", 1, 1),
        ]

    def _step(self, x: tf.Tensor, state: State, weights: list[Any]) -> State:
        (h,) = state
        kernel, bias, into, into_bias, hidden, hidden_bias = weights
        gates = tf.sigmoid(tf.nn.bias_add(tf.matmul(tf.concat([x, h], 1), kernel), bias))
        reset, update = tf.split(gates, 2, 1)
        new = tf.nn.bias_add(tf.matmul(x, into), into_bias)
        old = tf.nn.bias_add(tf.matmul(h, hidden), hidden_bias)
        return ((1 - update) * tf.tanh(new + reset * old) + update * h,)


class _Simple(_CudnnRNN):
    _cell_name = "basic_rnn_cell"
    _activation: ClassVar[Any]

    def _new_cell(self, path: str, size: int) -> list[Any]:
        kernel = self._kernel(f"{path}/kernel", [size, self._num_units], 1)
        return [kernel, self._bias(f"{path}/bias", 1, 2)]

    def _step(self, x: tf.Tensor, state: State, weights: list[Any]) -> State:
        kernel, bias = weights
        product = tf.matmul(tf.concat([x, state[0]], 1), kernel)
        return (type(self)._activation(tf.nn.bias_add(product, bias)),)


class CudnnRNNTanh(_Simple):
    """A plain recurrent layer with tanh."""

    _rnn_mode = "rnn_tanh"
    _activation = staticmethod(tf.tanh)


class CudnnRNNRelu(_Simple):
    """A plain recurrent layer with relu."""

    _rnn_mode = "rnn_relu"
    _activation = staticmethod(tf.nn.relu)
