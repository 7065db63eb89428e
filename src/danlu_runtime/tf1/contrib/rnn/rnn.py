"""Stacks of bidirectional networks: each layer reads both directions of the layer below."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: list[tf.Tensor],
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[list[tf.Tensor], tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs of the last layer and the final states of every layer."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw: list[Any] = []
    states_bw: list[Any] = []
    layer = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{i}"):
                layer, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    dtype=dtype,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: tf.Tensor,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[tf.Tensor, tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs of the last layer and the final states of every layer."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw: list[Any] = []
    states_bw: list[Any] = []
    layer = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{i}"):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    cell_fw,
                    cell_bw,
                    layer,
                    initial_state_fw=initial_states_fw[i] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[i] if initial_states_bw else None,
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    swap_memory=swap_memory,
                    time_major=time_major,
                )
                layer = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return layer, tuple(states_fw), tuple(states_bw)


def _check(cells_fw: Any, cells_bw: Any, initial_states_fw: Any, initial_states_bw: Any) -> None:
    if not cells_fw:
        raise ValueError("Must specify at least one fw cell for BidirectionalRNN.")
    if not cells_bw:
        raise ValueError("Must specify at least one bw cell for BidirectionalRNN.")
    if not isinstance(cells_fw, list) or not isinstance(cells_bw, list):
        raise ValueError("cells_fw and cells_bw must be lists of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for name, states in (("fw", initial_states_fw), ("bw", initial_states_bw)):
        if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
            raise ValueError(
                f"initial_states_{name} must be a list of state tensors (one per layer)."
            )
