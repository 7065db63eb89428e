"""Helpers: what a decoder reads next, from data or from its own samples."""

import abc
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn import _transpose_batch_time


class Helper(metaclass=abc.ABCMeta):
    """Samples from outputs and says what comes next."""

    @property
    @abc.abstractmethod
    def batch_size(self) -> Any:
        """The batch size, a scalar int32."""

    @property
    @abc.abstractmethod
    def sample_ids_shape(self) -> tf.TensorShape:
        """The shape of one sample, without the batch."""

    @property
    @abc.abstractmethod
    def sample_ids_dtype(self) -> Any:
        """The type of a sample."""

    @abc.abstractmethod
    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        """Return ``(finished, first_inputs)``."""

    @abc.abstractmethod
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return a sample of the outputs."""

    @abc.abstractmethod
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        """Return ``(finished, next_inputs, next_state)``."""


class IdHelper(Helper):
    """What every helper with one whole number a row shares."""

    _batch_size: Any

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        return tf.int32


class CustomHelper(Helper):
    """A helper from three functions."""

    def __init__(
        self,
        initialize_fn: Callable[[], tuple[Any, Any]],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., tuple[Any, Any, Any]],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = tf.TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or tf.int32

    @property
    def batch_size(self) -> Any:
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> tf.TensorShape:
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, "CustomHelperInitialize"):
            finished, next_inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = tf.size(finished)
        return finished, next_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        with tf.name_scope(name, "CustomHelperSample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(name, "CustomHelperNextInputs"):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class TrainingHelper(IdHelper):
    """Reads its inputs from data; samples are the best classes."""

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
            self._inputs = inputs
            if not time_major:
                inputs = tf.nest.map_structure(_transpose_batch_time, inputs)
            self._input_tas = tf.nest.map_structure(unstacked, inputs)
            self._sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}"
                )
            self._zero_inputs = tf.nest.map_structure(lambda inp: tf.zeros_like(inp[0, :]), inputs)
            self._batch_size = tf.size(sequence_length)

    @property
    def inputs(self) -> Any:
        return self._inputs

    @property
    def sequence_length(self) -> tf.Tensor:
        return self._sequence_length

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        with tf.name_scope(name, "TrainingHelperInitialize"):
            finished = tf.equal(0, self._sequence_length)
            return finished, self._read(finished, 0)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        with tf.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any = None, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        with tf.name_scope(name, "TrainingHelperNextInputs"):
            finished = time + 1 >= self._sequence_length
            return finished, self._read(finished, time + 1), state

    def _read(self, finished: tf.Tensor, time: Any) -> Any:
        """Return the inputs of a step; there is nothing left to read when all have ended."""
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: tf.nest.map_structure(lambda ta: ta.read(time), self._input_tas),
        )


class GreedyEmbeddingHelper(IdHelper):
    """Takes the best class of each output and reads its embedding next."""

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = embedder(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        if not isinstance(outputs, tf.Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        finished = tf.equal(sample_ids, self._end_token)
        next_inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._start_inputs,
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, next_inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Draws a class from each output and reads its embedding next."""

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        if not isinstance(outputs, tf.Tensor):
            raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
        logits = outputs
        if self._softmax_temperature is not None:
            logits = outputs / self._softmax_temperature
        return tf.distributions.Categorical(logits=logits).sample(seed=self._seed)


class InferenceHelper(Helper):
    """Feeds samples of any shape back, by functions of the caller."""

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._sample_shape = tf.TensorShape(sample_shape)
        self._sample_dtype = sample_dtype
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = tf.convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = tf.shape(start_inputs)[0]

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def sample_ids_shape(self) -> tf.TensorShape:
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> tuple[Any, Any]:
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        next_inputs = (
            sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
        )
        return self._end_fn(sample_ids), next_inputs, state


def embedder(embedding: Any) -> Callable[[Any], Any]:
    """Return the function from ids to vectors: the given one, or a look-up in a table."""
    if callable(embedding):
        return embedding
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


def unstacked(inputs: tf.Tensor) -> tf.TensorArray:
    """Return an array of the steps of a tensor, time first."""
    array = tf.TensorArray(
        dtype=inputs.dtype, size=tf.shape(inputs)[0], element_shape=inputs.shape[1:]
    )
    return array.unstack(inputs)


# Scheduled sampling: a training decoder that sometimes reads its own outputs.


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
