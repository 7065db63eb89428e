"""The decoder that keeps the best beams of each sequence."""

import collections
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import assert_like_rnncell

from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import check_layer, sizes_behind
from danlu_runtime.tf1.contrib.seq2seq.beam_search_ops import gather_tree, gather_tree_from_array
from danlu_runtime.tf1.contrib.seq2seq.beam_step import (
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    attention_probabilities,
    step,
)
from danlu_runtime.tf1.contrib.seq2seq.decoder import Decoder
from danlu_runtime.tf1.contrib.seq2seq.helper import embedder

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "tile_batch",
]


class FinalBeamSearchDecoderOutput(
    collections.namedtuple(
        "FinalBeamDecoderOutput", ("predicted_ids", "beam_search_decoder_output")
    )
):
    """The beams, best first, and what each step chose."""


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Repeat each row of a (structure of) tensors, so that its beams stand side by side."""

    def tile(part: Any) -> tf.Tensor:
        part = tf.convert_to_tensor(part, name="t")
        if part.shape.ndims is None or part.shape.ndims < 1:
            raise ValueError("t must have statically known rank")
        shape = tf.shape(part)
        repeated = tf.tile(tf.expand_dims(part, 1), [1, multiplier, *[1] * (part.shape.ndims - 1)])
        tiled = tf.reshape(repeated, tf.concat([[shape[0] * multiplier], shape[1:]], 0))
        rows = part.shape.as_list()[0]
        batch = tf.TensorShape([rows * multiplier if rows is not None else None])
        tiled.set_shape(batch.concatenate(part.shape[1:]))
        return tiled

    with tf.name_scope(name, "tile_batch", [*tf.nest.flatten(t), multiplier]):
        return tf.nest.map_structure(tile, t)


class BeamSearchDecoder(Decoder):
    """Beam search over a cell; an attentive cell needs its memory tiled with ``tile_batch``."""

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        assert_like_rnncell("cell", cell)
        check_layer("output_layer", output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._embedding_fn = embedder(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(start_tokens)
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._initial_cell_state = tf.nest.map_structure(
            self._split, initial_state, self._cell.state_size
        )
        self._start_tokens = tf.tile(tf.expand_dims(self._start_tokens, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)

    @property
    def batch_size(self) -> tf.Tensor:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """Beams change places, and what is finished with them."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        width = tf.TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=width, predicted_ids=width, parent_ids=width)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        dtype = tf.nest.flatten(self._initial_cell_state)[0].dtype
        sizes = sizes_behind(self._output_layer, self._cell.output_size)
        return BeamSearchDecoderOutput(
            scores=tf.nest.map_structure(lambda _: dtype, sizes),
            predicted_ids=tf.int32,
            parent_ids=tf.int32,
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        """Only the first beam of each row is alive: the others would repeat it."""
        dtype = tf.nest.flatten(self._initial_cell_state)[0].dtype
        first = tf.zeros([self._batch_size], tf.int32)
        width = self._beam_width
        finished = tf.one_hot(first, width, on_value=False, off_value=True, dtype=tf.bool)
        covered = attention_probabilities(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=tf.one_hot(
                first,
                width,
                on_value=tf.constant(0.0, dtype),
                off_value=tf.constant(-np.inf, dtype),
                dtype=dtype,
            ),
            finished=finished,
            lengths=tf.zeros([self._batch_size, width], tf.int64),
            accumulated_attention_probs=() if covered is None else covered,
        )
        return finished, self._start_inputs, state

    def step(
        self, time: tf.Tensor, inputs: Any, state: BeamSearchDecoderState, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with tf.name_scope(name, "BeamSearchDecoderStep"):
            inputs = tf.nest.map_structure(lambda inp: self._merged(inp, inp.shape[2:]), inputs)
            cell_state = tf.nest.map_structure(self._merge, state.cell_state, self._cell.state_size)
            outputs, next_cell_state = self._cell(inputs, cell_state)
            outputs = tf.nest.map_structure(lambda out: self._split(out, out.shape[1:]), outputs)
            next_cell_state = tf.nest.map_structure(
                self._split, next_cell_state, self._cell.state_size
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            chosen, next_state = step(
                logits=outputs,
                next_cell_state=next_cell_state,
                beam_state=state,
                batch_size=self._batch_size,
                beam_width=self._beam_width,
                end_token=self._end_token,
                length_penalty_weight=self._length_penalty_weight,
                coverage_penalty_weight=self._coverage_penalty_weight,
            )
            next_inputs = tf.cond(
                tf.reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(chosen.predicted_ids),
            )
        return chosen, next_state, next_inputs, next_state.finished

    def finalize(
        self,
        outputs: BeamSearchDecoderOutput,
        final_state: BeamSearchDecoderState,
        sequence_lengths: Any,
    ) -> tuple[FinalBeamSearchDecoderOutput, BeamSearchDecoderState]:
        """Follow the beams back; lengths are those of the state, which moved with the beams."""
        predicted = gather_tree(
            outputs.predicted_ids,
            outputs.parent_ids,
            max_sequence_lengths=tf.cast(tf.reduce_max(final_state.lengths, 1), tf.int32),
            end_token=self._end_token,
        )
        if self._reorder_tensor_arrays:
            ordered = tf.nest.map_structure(
                lambda t: self._in_order(t, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=ordered)
        return FinalBeamSearchDecoderOutput(predicted, outputs), final_state

    def _in_order(self, t: Any, parent_ids: tf.Tensor, lengths: tf.Tensor) -> Any:
        """Return the history of an attention in the order of the final beams."""
        if not isinstance(t, tf.TensorArray):
            return t
        whole = t.stack()
        shape = tf.shape(whole)
        split = tf.concat([shape[:1], [self._batch_size, self._beam_width], shape[2:]], 0)
        ordered = gather_tree_from_array(tf.reshape(whole, split), parent_ids, lengths)
        ordered = tf.reshape(ordered, shape)
        ordered.set_shape(whole.shape)
        return ordered

    def _merge(self, t: Any, s: Any) -> Any:
        """``[batch, beam, …]`` as the rows a cell takes; scalars and arrays as they are."""
        if isinstance(t, tf.TensorArray) or _rank(t) < 2:
            return t
        return self._merged(t, s)

    def _merged(self, t: tf.Tensor, s: Any) -> tf.Tensor:
        rows = tf.get_static_value(self._batch_size)
        rows = None if rows is None else int(rows) * self._beam_width
        shape = tf.concat([[self._batch_size * self._beam_width], tf.shape(t)[2:]], 0)
        merged = tf.reshape(t, shape)
        merged.set_shape(tf.TensorShape([rows]).concatenate(_shape(s)))
        return merged

    def _split(self, t: Any, s: Any) -> Any:
        """The rows of a cell as ``[batch, beam, …]``; scalars and arrays as they are."""
        if isinstance(t, tf.TensorArray) or _rank(t) < 1:
            return t
        split = tf.reshape(t, tf.concat([[self._batch_size, self._beam_width], tf.shape(t)[1:]], 0))
        rows = tf.get_static_value(self._batch_size)
        expected = tf.TensorShape([rows, self._beam_width]).concatenate(_shape(s))
        if not split.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"reshaped tensor has shape: {split.shape}.  We expected it to have shape "
                f"(batch_size, beam_width, depth) == {expected}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        split.set_shape(expected)
        return split


def _rank(t: tf.Tensor) -> int:
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
    return int(t.shape.ndims)


def _shape(size: Any) -> tf.TensorShape:
    """Return what is known of a size: a number, a shape, or a tensor that may be a constant."""
    if not isinstance(size, tf.Tensor):
        return tf.TensorShape(size)
    known = tf.get_static_value(size)
    if known is not None:
        return tf.TensorShape(known.tolist())
    return tf.TensorShape([None] * (size.shape.as_list()[0] if size.shape.ndims else 1))
