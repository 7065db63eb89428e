"""Scheduled sampling: a training decoder that sometimes reads its own outputs."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn import _transpose_batch_time

from danlu_runtime.tf1.contrib.seq2seq.helper import TrainingHelper, embedder, unstacked


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Reads the embedding of a drawn class with a given probability; -1 says that it did not."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        self._embedding_fn = embedder(embedding)
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._scheduling_seed = scheduling_seed
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):
            coin = tf.distributions.Bernoulli(probs=self._sampling_probability, dtype=tf.bool)
            chosen = coin.sample(sample_shape=self.batch_size, seed=self._scheduling_seed)
            drawn = tf.distributions.Categorical(logits=outputs).sample(seed=self._seed)
            return tf.where(chosen, drawn, tf.fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, from_data, state = super().next_inputs(time, outputs, state, sample_ids, name)
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):

            def mixed() -> tf.Tensor:
                chosen = tf.where(sample_ids > -1)
                embedded = self._embedding_fn(tf.gather_nd(sample_ids, chosen))
                return _mix(embedded, chosen, from_data, tf.where(sample_ids <= -1))

            return finished, tf.cond(tf.reduce_all(finished), lambda: from_data, mixed), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """Reads its own output with a given probability; samples say 1 where it did."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._next_inputs_fn = next_inputs_fn
        self._auxiliary_input_tas = None
        if auxiliary_inputs is not None:
            extra = tf.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
            inputs = tf.concat([tf.convert_to_tensor(inputs), extra], -1)
            self._auxiliary_input_tas = unstacked(
                extra if time_major else _transpose_batch_time(extra)
            )
        super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        with tf.name_scope(name, "ScheduledOutputTrainingHelperSample"):
            coin = tf.distributions.Bernoulli(probs=self._sampling_probability)
            return coin.sample(sample_shape=self.batch_size, seed=self._seed)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished, from_data, state = super().next_inputs(time, outputs, state, sample_ids, name)
        with tf.name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            own = tf.cast(sample_ids, tf.bool)

            def mixed() -> tf.Tensor:
                if self._next_inputs_fn is None:
                    return tf.where(own, self._with_extra(outputs, time), from_data)
                chosen = tf.where(own)
                given = self._next_inputs_fn(tf.gather_nd(outputs, chosen))
                given = self._with_extra(given, time, chosen)
                return _mix(given, chosen, from_data, tf.where(tf.logical_not(own)))

            nothing = tf.logical_or(tf.reduce_all(finished), tf.logical_not(tf.reduce_any(own)))
            return finished, tf.cond(nothing, lambda: from_data, mixed), state

    def _with_extra(self, outputs: tf.Tensor, time: Any, rows: Any = None) -> tf.Tensor:
        if self._auxiliary_input_tas is None:
            return outputs
        extra = self._auxiliary_input_tas.read(time + 1)
        if rows is not None:
            extra = tf.gather_nd(extra, rows)
        return tf.concat([outputs, extra], -1)


def _probability(value: Any) -> tf.Tensor:
    probability = tf.convert_to_tensor(value, name="sampling_probability")
    if probability.shape.ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. "
            f"saw shape: {probability.shape}"
        )
    return probability


def _mix(own: tf.Tensor, own_rows: Any, from_data: tf.Tensor, data_rows: Any) -> tf.Tensor:
    shape = tf.shape(from_data, out_type=tf.int64)
    data = tf.gather_nd(from_data, data_rows)
    mixed = tf.scatter_nd(own_rows, own, shape) + tf.scatter_nd(data_rows, data, shape)
    mixed.set_shape(from_data.shape)
    return mixed
