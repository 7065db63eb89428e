"""The decoder that keeps the best beams of each sequence."""

import collections
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import assert_like_rnncell

from danlu_runtime.tf1.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import check_layer, sizes_behind
from danlu_runtime.tf1.contrib.seq2seq.beam_search_ops import gather_tree, gather_tree_from_array
from danlu_runtime.tf1.contrib.seq2seq.decoder import Decoder
from danlu_runtime.tf1.contrib.seq2seq.helper import embedder

__all__ = [
    "BeamSearchDecoder",
    "BeamSearchDecoderOutput",
    "BeamSearchDecoderState",
    "FinalBeamSearchDecoderOutput",
    "tile_batch",
]


# One step of beam search: score every continuation of every beam and keep the best.


class BeamSearchDecoderState(
    collections.namedtuple(
        "BeamSearchDecoderState",
        ("cell_state", "log_probs", "finished", "lengths", "accumulated_attention_probs"),
    )
):
    """The beams of every row: states, log probabilities, ends and lengths."""


class BeamSearchDecoderOutput(
    collections.namedtuple("BeamSearchDecoderOutput", ("scores", "predicted_ids", "parent_ids"))
):
    """What a step chose: scores, words and the beams they continue."""


def step(
    logits: tf.Tensor,
    next_cell_state: Any,
    beam_state: BeamSearchDecoderState,
    batch_size: tf.Tensor,
    beam_width: int,
    end_token: tf.Tensor,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """Return the choice of a step and the state of the beams after it."""
    before = beam_state.finished
    alive = tf.logical_not(before)
    log_probs = tf.expand_dims(beam_state.log_probs, 2) + _only_end(
        tf.nn.log_softmax(logits), end_token, before
    )
    words = logits.shape.as_list()[-1] or tf.shape(logits)[-1]
    longer = tf.one_hot(
        tf.fill([batch_size, beam_width], end_token),
        words,
        on_value=tf.constant(0, tf.int64),
        off_value=tf.constant(1, tf.int64),
        dtype=tf.int64,
    )
    lengths = tf.expand_dims(beam_state.lengths, 2)
    lengths += longer * tf.expand_dims(tf.cast(alive, tf.int64), 2)
    covered = attention_probabilities(next_cell_state, coverage_penalty_weight)
    if covered is not None:
        covered *= tf.expand_dims(tf.cast(alive, covered.dtype), 2)
        covered += beam_state.accumulated_attention_probs
    scores = log_probs / tf.cast(_length_penalty(lengths, length_penalty_weight), log_probs.dtype)
    if covered is not None:
        ended = tf.reduce_all(before, axis=1, keepdims=True)
        scores += _coverage_penalty(covered, ended, coverage_penalty_weight)

    flat = tf.reshape(scores, [batch_size, -1])
    best, places = tf.nn.top_k(flat, k=beam_width)
    best.set_shape([tf.get_static_value(batch_size), beam_width])
    places.set_shape([tf.get_static_value(batch_size), beam_width])
    word_ids = tf.mod(places, words, name="next_beam_word_ids")
    beam_ids = tf.floordiv(places, words, name="next_beam_parent_ids")
    before = _pick(before, beam_ids)
    finished = tf.logical_or(before, tf.equal(word_ids, end_token), name="next_beam_finished")
    # A beam grows by the word that ends it, and not after.
    grown = _pick(beam_state.lengths, beam_ids) + tf.cast(tf.logical_not(before), tf.int64)
    next_state = BeamSearchDecoderState(
        cell_state=tf.nest.map_structure(lambda t: _pick(t, beam_ids), next_cell_state),
        log_probs=tf.gather(tf.reshape(log_probs, [batch_size, -1]), places, batch_dims=1),
        lengths=grown,
        finished=finished,
        accumulated_attention_probs=() if covered is None else _pick(covered, beam_ids),
    )
    return BeamSearchDecoderOutput(best, word_ids, beam_ids), next_state


def attention_probabilities(cell_state: Any, coverage_penalty_weight: Any) -> tf.Tensor | None:
    """Return the mean alignments of all attentive cells; None where no penalty asks for them."""
    if isinstance(coverage_penalty_weight, (int, float)) and coverage_penalty_weight == 0.0:
        return None
    states = [cell_state]
    if not isinstance(cell_state, AttentionWrapperState) and isinstance(cell_state, tuple):
        states = list(cell_state)
    found = [
        _mean(state.alignments) for state in states if isinstance(state, AttentionWrapperState)
    ]
    if not found:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return _mean(tuple(found))


def _mean(tensors: Any) -> tf.Tensor:
    if not isinstance(tensors, tuple):
        return tensors
    return tensors[0] if len(tensors) == 1 else tf.reduce_mean(tf.stack(tensors, -1), -1)


def _pick(t: Any, beam_ids: tf.Tensor) -> Any:
    """Return the chosen beams of ``[batch, beam, …]``; scalars and arrays as they are."""
    if isinstance(t, tf.TensorArray) or t.shape.ndims < 2:
        return t
    picked = tf.gather(t, beam_ids, batch_dims=1)
    picked.set_shape(t.shape)
    return picked


def _only_end(log_probs: tf.Tensor, end_token: tf.Tensor, finished: tf.Tensor) -> tf.Tensor:
    """A beam that has ended can only go on with its end."""
    words = tf.shape(log_probs)[2]
    row = tf.one_hot(
        end_token,
        words,
        on_value=tf.constant(0.0, log_probs.dtype),
        off_value=tf.constant(log_probs.dtype.min, log_probs.dtype),
        dtype=log_probs.dtype,
    )
    rows = tf.zeros_like(log_probs) + row
    return tf.where(tf.tile(tf.expand_dims(finished, 2), [1, 1, words]), rows, log_probs)


def _length_penalty(lengths: tf.Tensor, weight: Any) -> Any:
    """``((5 + length) / 6) ** weight`` (Wu and others, 2016)."""
    weight = tf.convert_to_tensor(weight, name="penalty_factor")
    if tf.get_static_value(weight) == 0:
        return 1.0
    return ((5.0 + tf.cast(lengths, tf.float32)) / 6.0) ** weight


def _coverage_penalty(covered: tf.Tensor, ended: tf.Tensor, weight: Any) -> tf.Tensor:
    """The log of how much of the memory was attended to; steps never seen are padding."""
    covered = tf.where(tf.equal(covered, 0.0), tf.ones_like(covered), covered)
    penalty = tf.reduce_sum(tf.log(tf.minimum(covered, 1.0)), 2)
    penalty *= tf.cast(ended, penalty.dtype)
    return tf.expand_dims(penalty * weight, 2)


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
