"""Cells that take a whole sequence, time first."""

import abc
from typing import Any

import tensorflow.compat.v1 as tf


class FusedRNNCell(metaclass=abc.ABCMeta):
    """Something that maps a sequence and an initial state to outputs and a final state."""

    @abc.abstractmethod
    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Run over ``inputs``: a tensor with time first, or a list of matrices."""


class FusedRNNCellAdaptor(FusedRNNCell):
    """Runs an ordinary cell over the sequence."""

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        as_list = isinstance(inputs, list)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            whole = tf.stack(inputs) if as_list else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, whole, time_major=True, **options)
            return (tf.unstack(outputs) if as_list else outputs), state
        steps = inputs if as_list else tf.unstack(inputs)
        outputs, state = tf.nn.static_rnn(self._cell, steps, **options)
        return (outputs if as_list else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """Runs a fused cell backwards in time, within the length of each row."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        # A fused cell is a layer or a callable of the interface above; both take a scope.
        outputs, state = self._cell(
            _reverse(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return _reverse(outputs, sequence_length), state


def _reverse(sequence: Any, lengths: Any) -> Any:
    if isinstance(sequence, list):
        return list(reversed(sequence))
    if lengths is None:
        return tf.reverse(sequence, [0])
    return tf.reverse_sequence(sequence, lengths, seq_axis=0, batch_axis=1)
