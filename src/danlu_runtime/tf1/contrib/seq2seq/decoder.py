"""The interface of decoders, and the loop that runs one until every sequence has ended."""

import abc
import contextlib
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn import _transpose_batch_time
from tensorflow.python.ops.rnn_cell_impl import _zero_state_tensors


class Decoder(metaclass=abc.ABCMeta):
    """Something that makes one output at a time from a state and an input."""

    @property
    def batch_size(self) -> Any:
        """The batch size of the inputs."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """A (structure of) sizes of one output, without the batch."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """A (structure of) types of one output."""
        raise NotImplementedError

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Return ``(finished, first_inputs, initial_state)``; called once before the loop."""

    @abc.abstractmethod
    def step(
        self, time: tf.Tensor, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        """Return ``(outputs, next_state, next_inputs, finished)``."""

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Change outputs and state after the loop; a decoder without need does not define it."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether ``finished`` of a step stands alone: decoders that reorder rows say yes."""
        return False


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
    **kwargs: Any,
) -> tuple[Any, Any, tf.Tensor]:
    """Run a decoder; return its outputs, its last state and the length of each sequence.

    With ``impute_finished`` the outputs behind an end are zeros and the state stays as it was.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with tf.variable_scope(scope, "decoder") as varscope:
        if varscope.caching_device is None and not _inside_a_loop():
            varscope.set_caching_device(lambda op: op.device)
        if maximum_iterations is not None:
            maximum_iterations = tf.convert_to_tensor(
                maximum_iterations, dtype=tf.int32, name="maximum_iterations"
            )
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        outputs, state, lengths = _loop(
            decoder, impute_finished, maximum_iterations, parallel_iterations, swap_memory, kwargs
        )
        with contextlib.suppress(NotImplementedError):
            outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = tf.nest.map_structure(_transpose_batch_time, outputs)
    return outputs, state, lengths


def _loop(
    decoder: Decoder,
    impute_finished: bool,
    maximum_iterations: tf.Tensor | None,
    parallel_iterations: int,
    swap_memory: bool,
    step_options: dict[str, Any],
) -> tuple[Any, Any, tf.Tensor]:
    finished, first_inputs, first_state = decoder.initialize()
    if maximum_iterations is not None:
        finished = tf.logical_or(finished, maximum_iterations <= 0)
    zeros = tf.nest.map_structure(
        lambda size, dtype: _zero_state_tensors(size, decoder.batch_size, dtype),
        decoder.output_size,
        decoder.output_dtype,
    )
    arrays = tf.nest.map_structure(
        lambda size, dtype: _array(decoder.batch_size, size, dtype),
        decoder.output_size,
        decoder.output_dtype,
    )

    def body(time: Any, written: Any, state: Any, inputs: Any, finished: Any, lengths: Any) -> Any:
        outputs, new_state, next_inputs, ended = decoder.step(time, inputs, state, **step_options)
        tf.nest.assert_same_structure(state, new_state)
        tf.nest.assert_same_structure(written, outputs)
        tf.nest.assert_same_structure(inputs, next_inputs)
        if not decoder.tracks_own_finished:
            ended = tf.logical_or(ended, finished)
        now = tf.fill(tf.shape(lengths), time + 1)
        lengths = tf.where(tf.logical_not(finished), now, lengths)
        if impute_finished:
            outputs = tf.nest.map_structure(
                lambda out, zero: tf.where(finished, zero, out), outputs, zeros
            )
            new_state = tf.nest.map_structure(
                lambda new, old: _unless(finished, new, old), new_state, state
            )
        written = tf.nest.map_structure(lambda ta, out: ta.write(time, out), written, outputs)
        return time + 1, written, new_state, next_inputs, ended, lengths

    result = tf.while_loop(
        lambda time, written, state, inputs, finished, lengths: tf.logical_not(
            tf.reduce_all(finished)
        ),
        body,
        loop_vars=(
            tf.constant(0),
            arrays,
            first_state,
            first_inputs,
            finished,
            tf.zeros_like(finished, dtype=tf.int32),
        ),
        parallel_iterations=parallel_iterations,
        maximum_iterations=maximum_iterations,
        swap_memory=swap_memory,
    )
    outputs = tf.nest.map_structure(lambda ta: ta.stack(), result[1])
    return outputs, result[2], result[5]


def _array(batch_size: Any, size: Any, dtype: Any) -> tf.TensorArray:
    batch = tf.get_static_value(tf.convert_to_tensor(batch_size, name="batch_size"))
    shape = tf.TensorShape([batch]).concatenate(tf.TensorShape(size))
    return tf.TensorArray(dtype=dtype, size=0, dynamic_size=True, element_shape=shape)


def _unless(finished: tf.Tensor, new: Any, old: Any) -> Any:
    """Return the old state of rows that have ended; arrays and scalars go on as they are."""
    if isinstance(old, tf.TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else tf.where(finished, old, new)


def _inside_a_loop() -> bool:
    """A variable read ahead of a loop around the decoder would not see what the loop trains."""
    context = tf.get_default_graph()._get_control_flow_context()
    while context is not None:
        if context.IsWhileContext():
            return True
        context = context.outer_context
    return False
