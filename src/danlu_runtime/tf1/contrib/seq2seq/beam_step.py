"""One step of beam search: score every continuation of every beam and keep the best."""

import collections
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.seq2seq.attention_wrapper import AttentionWrapperState


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
