"""tf.contrib.crf: linear-chain conditional random fields.

Shapes are batch first: scores ``[batch, time, tags]``, tags and lengths int32. The only variable is
``transitions``, made by ``crf_log_likelihood`` when no matrix is given.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


def crf_log_likelihood(
    inputs: tf.Tensor,
    tag_indices: tf.Tensor,
    sequence_lengths: tf.Tensor,
    transition_params: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the log likelihood of each tag sequence, and the transition matrix."""
    if transition_params is None:
        num_tags = inputs.shape.as_list()[2]
        transition_params = tf.get_variable("transitions", [num_tags, num_tags])
    scores = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    norm = crf_log_norm(inputs, sequence_lengths, transition_params)
    return scores - norm, transition_params


def crf_sequence_score(
    inputs: tf.Tensor,
    tag_indices: tf.Tensor,
    sequence_lengths: tf.Tensor,
    transition_params: tf.Tensor,
) -> tf.Tensor:
    """Return the unnormalised score of each tag sequence."""

    def of_one_step() -> tf.Tensor:
        rows = tf.range(tf.shape(inputs)[0])
        tags = tf.cast(tf.reshape(tag_indices, [-1]), rows.dtype)
        score = tf.gather_nd(tf.squeeze(inputs, [1]), tf.stack([rows, tags], 1))
        return _unless_empty(score, sequence_lengths)

    def of_many() -> tf.Tensor:
        unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
        return unary + crf_binary_score(tag_indices, sequence_lengths, transition_params)

    return _by_length(inputs, of_one_step, of_many)


def crf_multitag_sequence_score(
    inputs: tf.Tensor,
    tag_bitmap: tf.Tensor,
    sequence_lengths: tf.Tensor,
    transition_params: tf.Tensor,
) -> tf.Tensor:
    """Return the log of the summed score of all sequences whose tags the bitmap allows."""
    impossible = tf.fill(tf.shape(inputs), tf.constant(-np.inf, inputs.dtype))
    allowed = tf.where(tf.cast(tag_bitmap, tf.bool), inputs, impossible)
    return crf_log_norm(allowed, sequence_lengths, transition_params)


def crf_log_norm(
    inputs: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: tf.Tensor
) -> tf.Tensor:
    """Return the log of the summed score of all sequences: the normaliser."""
    sequence_lengths = tf.convert_to_tensor(sequence_lengths)
    first = inputs[:, 0, :]

    def of_one_step() -> tf.Tensor:
        return _unless_empty(tf.reduce_logsumexp(first, [1]), sequence_lengths)

    def of_many() -> tf.Tensor:
        _, alphas = tf.nn.dynamic_rnn(
            cell=CrfForwardRnnCell(transition_params),
            inputs=inputs[:, 1:, :],
            sequence_length=_less_one(sequence_lengths),
            initial_state=first,
            dtype=inputs.dtype,
        )
        return _unless_empty(tf.reduce_logsumexp(alphas, [1]), sequence_lengths)

    return _by_length(inputs, of_one_step, of_many)


def crf_unary_score(
    tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, inputs: tf.Tensor
) -> tf.Tensor:
    """Return the summed score of the tags themselves."""
    shape = tf.shape(inputs)
    batch, time, num_tags = shape[0], shape[1], shape[2]
    steps = tf.reshape(tf.range(batch * time), [batch, time])
    flat = steps * num_tags + tf.cast(tag_indices, tf.int32)
    scores = tf.gather(tf.reshape(inputs, [-1]), flat)
    mask = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(tag_indices)[1], dtype=inputs.dtype)
    return tf.reduce_sum(scores * mask, 1)


def crf_binary_score(
    tag_indices: tf.Tensor, sequence_lengths: tf.Tensor, transition_params: tf.Tensor
) -> tf.Tensor:
    """Return the summed score of the transitions from tag to tag."""
    transition_params = tf.convert_to_tensor(transition_params)
    num_tags = transition_params.shape.as_list()[0]
    flat = tag_indices[:, :-1] * num_tags + tag_indices[:, 1:]
    scores = tf.gather(tf.reshape(transition_params, [-1]), flat)
    mask = tf.sequence_mask(
        sequence_lengths, maxlen=tf.shape(tag_indices)[1], dtype=transition_params.dtype
    )
    return tf.reduce_sum(scores * mask[:, 1:], 1)


class CrfForwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """One step of the forward algorithm: its state are the log sums of all ways to each tag."""

    def __init__(self, transition_params: tf.Tensor) -> None:
        super().__init__()
        self._transition_params = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)
        self._num_tags = self._transition_params.shape.as_list()[1]

    @property
    def state_size(self) -> int:
        return self._num_tags

    @property
    def output_size(self) -> int:
        return self._num_tags

    def __call__(
        self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        ways = tf.expand_dims(state, 2) + self._transition_params
        alphas = inputs + tf.reduce_logsumexp(ways, [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """One step of Viterbi: its state are the best scores, its output where each came from."""

    def __init__(self, transition_params: tf.Tensor) -> None:
        super().__init__()
        self._transition_params = tf.expand_dims(tf.convert_to_tensor(transition_params), 0)
        self._num_tags = self._transition_params.shape.as_list()[1]

    @property
    def state_size(self) -> int:
        return self._num_tags

    @property
    def output_size(self) -> int:
        return self._num_tags

    def __call__(
        self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        ways = tf.expand_dims(state, 2) + self._transition_params
        backpointers = tf.cast(tf.argmax(ways, 1), tf.int32)
        return backpointers, inputs + tf.reduce_max(ways, [1])


class CrfDecodeBackwardRnnCell(tf.nn.rnn_cell.RNNCell):
    """Follows the backpointers from the last tag to the first."""

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        return 1

    @property
    def output_size(self) -> int:
        return 1

    def __call__(
        self, inputs: tf.Tensor, state: tf.Tensor, scope: Any = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        rows = tf.range(tf.shape(inputs)[0])
        tags = tf.gather_nd(inputs, tf.stack([rows, tf.squeeze(state, [1])], 1))
        tags = tf.expand_dims(tags, -1)
        return tags, tags


def crf_decode(
    potentials: tf.Tensor, transition_params: tf.Tensor, sequence_length: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the best tags ``[batch, time]``, zero behind each length, and their scores."""
    sequence_length = tf.convert_to_tensor(sequence_length)

    def of_one_step() -> tuple[tf.Tensor, tf.Tensor]:
        only = tf.squeeze(potentials, [1])
        tags = tf.cast(tf.expand_dims(tf.argmax(only, 1), 1), tf.int32)
        return tags, tf.reduce_max(only, 1)

    def of_many() -> tuple[tf.Tensor, tf.Tensor]:
        transitions = tf.convert_to_tensor(transition_params)
        lengths = _less_one(sequence_length)
        pointers, scores = tf.nn.dynamic_rnn(
            CrfDecodeForwardRnnCell(transitions),
            inputs=potentials[:, 1:, :],
            sequence_length=lengths,
            initial_state=potentials[:, 0, :],
            dtype=tf.int32,
        )
        last = tf.expand_dims(tf.cast(tf.argmax(scores, 1), tf.int32), -1)
        earlier, _ = tf.nn.dynamic_rnn(
            CrfDecodeBackwardRnnCell(transitions.shape.as_list()[0]),
            inputs=tf.reverse_sequence(pointers, lengths, seq_axis=1),
            sequence_length=lengths,
            initial_state=last,
            dtype=tf.int32,
        )
        tags = tf.concat([last, tf.squeeze(earlier, [2])], 1)
        return tf.reverse_sequence(tags, sequence_length, seq_axis=1), tf.reduce_max(scores, 1)

    return _by_length(potentials, of_one_step, of_many)


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """Return the best tags of one sequence and their score, with numpy and outside the graph."""
    score = np.asarray(score)
    trellis = np.zeros_like(score)
    pointers = np.zeros_like(score, dtype=np.int32)
    trellis[0] = score[0]
    for t in range(1, score.shape[0]):
        ways = np.expand_dims(trellis[t - 1], 1) + transition_params
        trellis[t] = score[t] + np.max(ways, 0)
        pointers[t] = np.argmax(ways, 0)
    path = [int(np.argmax(trellis[-1]))]
    for step in reversed(pointers[1:]):
        path.append(int(step[path[-1]]))
    path.reverse()
    return path, np.max(trellis[-1])


def _by_length(
    inputs: tf.Tensor, of_one_step: Callable[[], Any], of_many: Callable[[], Any]
) -> Any:
    """A chain of one step has no transitions; a graph that cannot know decides as it runs."""
    steps = inputs.shape.as_list()[1]
    if steps is not None:
        return of_one_step() if steps == 1 else of_many()
    return tf.cond(tf.equal(tf.shape(inputs)[1], 1), of_one_step, of_many)


def _less_one(lengths: tf.Tensor) -> tf.Tensor:
    return tf.maximum(tf.constant(0, dtype=lengths.dtype), lengths - 1)


def _unless_empty(values: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    return tf.where(tf.less_equal(lengths, 0), tf.zeros_like(values), values)
