"""LSTM cells over time and frequency."""

import collections
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.rnn._lstm_cells import (
    SizedCell,
    clip,
    columns,
    diagonals,
    rows,
    sharded_variable,
)


class TimeFreqLSTMCell(SizedCell):
    """An LSTM that steps over the frequencies of its input as well as over time."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size: Any = feature_size  # needed as in 1.15, although None is its default
        self._frequency_skip = frequency_skip
        self._sizes = (2 * num_units, num_units)

    def call(self, inputs: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        units, dtype = self._num_units, inputs.dtype
        count = (columns(inputs) - self._feature_size) // self._frequency_skip + 1
        windows = [
            inputs[:, f * self._frequency_skip : f * self._frequency_skip + self._feature_size]
            for f in range(count)
        ]
        kernel = sharded_variable(
            "W", [self._feature_size + 2 * units, 4 * units], dtype, self._num_unit_shards
        )
        bias = tf.get_variable("B", [4 * units], dtype, tf.zeros_initializer())
        w_f, w_i, w_o = diagonals(
            ["W_F_diag", "W_I_diag", "W_O_diag"], units, dtype, self._use_peepholes
        )
        m_freq = tf.zeros(tf.stack([rows(inputs), units]), dtype)
        states, outputs = [], []
        for fq, window in enumerate(windows):
            c_prev = state[:, 2 * fq * units : (2 * fq + 1) * units]
            m_prev = state[:, (2 * fq + 1) * units : (2 * fq + 2) * units]
            product = tf.matmul(tf.concat([window, m_prev, m_freq], 1), kernel)
            i, j, f, o = tf.split(tf.nn.bias_add(product, bias), 4, 1)
            c = tf.sigmoid(f + self._forget_bias + w_f * c_prev) * c_prev
            c = clip(c + tf.sigmoid(i + w_i * c_prev) * tf.tanh(j), self._cell_clip)
            m_freq = tf.sigmoid(o + w_o * c) * tf.tanh(c)
            states.extend([c, m_freq])
            outputs.append(m_freq)
        return tf.concat(outputs, 1), tf.concat(states, 1)


class GridLSTMCell(SizedCell):
    """A grid of two LSTMs, one along time and one along frequency."""

    _state_name = "GridLSTMStateTuple"

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: list[int] | None = None,
        start_freqindex_list: list[int] | None = None,
        end_freqindex_list: list[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._shared = share_time_frequency_weights
        self._coupled = couple_input_forget_gates
        self._state_is_tuple = state_is_tuple
        self._cell_clip = cell_clip
        self._num_unit_shards = num_unit_shards
        self._forget_bias = forget_bias
        # Both are needed as in 1.15, although None is their default.
        self._feature_size: Any = feature_size
        self._frequency_skip: Any = frequency_skip
        self._starts = start_freqindex_list
        self._ends = end_freqindex_list
        self._blocks = [int(blocks) for blocks in num_frequency_blocks]
        self._set_sizes(["state"])

    def _set_sizes(self, prefixes: list[str]) -> None:
        total = sum(self._blocks) * len(prefixes)
        names = [
            f"{prefix}_f{freq:02d}_b{block:02d}_{part}"
            for prefix in prefixes
            for block, count in enumerate(self._blocks)
            for freq in range(count)
            for part in "cm"
        ]
        make: Any = collections.namedtuple  # mypy has no type for computed fields
        self._state_tuple_type = make(self._state_name, names)
        state: Any = self._num_units * total * 2
        if self._state_is_tuple:
            state = self._state_tuple_type(*[self._num_units] * (2 * total))
        self._sizes = (state, self._num_units * total * 2)

    @property
    def state_tuple_type(self) -> Any:
        return self._state_tuple_type if self._state_is_tuple else None

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        outputs, states = self._run(self._windows(inputs), state, rows(inputs), "state")
        if self._state_is_tuple:
            return tf.concat(outputs, 1), self._state_tuple_type(*states)
        return tf.concat(outputs, 1), tf.concat(states, 1)

    def _run(
        self, blocks: list[list[tf.Tensor]], state: Any, batch: Any, prefix: str
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        outputs: list[tf.Tensor] = []
        states: list[tf.Tensor] = []
        for block, windows in enumerate(blocks):
            m, s = self._block(windows, block, state, batch, prefix)
            outputs += m
            states += s
        return outputs, states

    def _block(
        self, windows: list[tf.Tensor], block: int, state: Any, batch: Any, prefix: str
    ) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        units, dtype = self._num_units, windows[0].dtype
        size = columns(windows[0]) + 2 * units
        along_freq = self._weights("f", "freq", block, size, dtype)
        along_time = along_freq if self._shared else self._weights("t", "time", block, size, dtype)
        m_freq = c_freq = tf.zeros(tf.stack([batch, units]), dtype)
        outputs, states = [], []
        for freq, window in enumerate(windows):
            if self._state_is_tuple:
                name = f"{prefix}_f{freq:02d}_b{block:02d}"
                c_time, m_time = getattr(state, name + "_c"), getattr(state, name + "_m")
            else:
                c_time = state[:, 2 * freq * units : (2 * freq + 1) * units]
                m_time = state[:, (2 * freq + 1) * units : (2 * freq + 2) * units]
            whole = tf.concat([window, m_time, m_freq], 1)
            new_freq, out_freq = self._cell_state(along_freq, whole, c_freq, c_time, c_freq)
            new_time, out_time = self._cell_state(along_time, whole, c_freq, c_time, c_time)
            m_freq = self._output(along_freq, out_freq, new_freq, new_time, new_freq)
            m_time = self._output(along_time, out_time, new_freq, new_time, new_time)
            c_freq = new_freq
            states += [new_time, m_time]
            outputs += [m_time, m_freq]
        return outputs, states

    def _weights(self, short: str, axis: str, block: int, size: int, dtype: Any) -> dict[str, Any]:
        units, gates = self._num_units, 3 if self._coupled else 4
        kernel = sharded_variable(
            f"W_{short}_{block}", [size, gates * units], dtype, self._num_unit_shards
        )
        bias = tf.get_variable(f"B_{short}_{block}", [gates * units], dtype, tf.zeros_initializer())
        weights: dict[str, Any] = {"kernel": kernel, "bias": bias}
        for gate in "IO" if self._coupled else "FIO":
            names = [f"W_{gate}_diag_{axis}{end}_{block}" for end in "ft"]
            weights[gate] = diagonals(names, units, dtype, self._use_peepholes)
        return weights

    def _cell_state(
        self,
        weights: dict[str, Any],
        whole: tf.Tensor,
        c_freq: tf.Tensor,
        c_time: tf.Tensor,
        previous: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        product = tf.nn.bias_add(tf.matmul(whole, weights["kernel"]), weights["bias"])
        if self._coupled:
            i, j, o = tf.split(product, 3, 1)
        else:
            i, j, f, o = tf.split(product, 4, 1)
        let_in = tf.sigmoid(i + weights["I"][0] * c_freq + weights["I"][1] * c_time)
        if self._coupled:
            keep = 1.0 - let_in
        else:
            peep = weights["F"][0] * c_freq + weights["F"][1] * c_time
            keep = tf.sigmoid(f + self._forget_bias + peep)
        return clip(keep * previous + let_in * tf.tanh(j), self._cell_clip), o

    @staticmethod
    def _output(
        weights: dict[str, Any],
        gate: tf.Tensor,
        c_freq: tf.Tensor,
        c_time: tf.Tensor,
        own: tf.Tensor,
    ) -> tf.Tensor:
        peep = weights["O"][0] * c_freq + weights["O"][1] * c_time
        return tf.sigmoid(gate + peep) * tf.tanh(own)

    def _windows(self, inputs: tf.Tensor, offset: int = 0) -> list[list[tf.Tensor]]:
        size = columns(inputs)
        if offset > 0:
            inputs = tf.pad(inputs, [[0, 0], [0, offset]])
        elif offset < 0:
            inputs, offset = tf.pad(inputs, [[0, 0], [-offset, 0]]), 0
        ranges = [(0, size)]
        if self._starts:
            ranges = list(zip(self._starts, self._ends or [], strict=True))
        if len(ranges) != len(self._blocks):
            raise ValueError(
                f"Length of num_frequency_blocks is {len(self._blocks)}; "
                f"the frequency ranges are {len(ranges)}."
            )
        return [
            self._slices(inputs, start + offset, end - start, count)
            for (start, end), count in zip(ranges, self._blocks, strict=True)
        ]

    def _slices(self, inputs: tf.Tensor, start: int, size: int, count: int) -> list[tf.Tensor]:
        found = (size - self._feature_size) // self._frequency_skip + 1
        if found != count:
            raise ValueError(
                f"Invalid num_frequency_blocks, requires {count} but gets {found}, please "
                "check the input size and filter config are correct."
            )
        begins = [start + f * self._frequency_skip for f in range(count)]
        return [inputs[:, begin : begin + self._feature_size] for begin in begins]


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A grid that runs over the frequencies in both directions."""

    _state_name = "BidirectionalGridLSTMStateTuple"

    def __init__(self, *args: Any, backward_slice_offset: int = 0, **options: Any) -> None:
        super().__init__(*args, **options)
        self._backward_slice_offset = int(backward_slice_offset)
        self._set_sizes(["fwd_state", "bwd_state"])

    def call(self, inputs: tf.Tensor, state: Any) -> tuple[tf.Tensor, Any]:
        forward = self._windows(inputs)
        backward = self._windows(inputs, self._backward_slice_offset)
        batch = rows(inputs)
        with tf.variable_scope("fwd"):
            m_fwd, s_fwd = self._run(forward, state, batch, "fwd_state")
        with tf.variable_scope("bwd"):
            reverse = [windows[::-1] for windows in backward]
            m_bwd, s_bwd = self._run(reverse, state, batch, "bwd_state")
        return tf.concat(m_fwd + m_bwd, 1), self._state_tuple_type(*(s_fwd + s_bwd))
