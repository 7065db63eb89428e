"""Attention mechanisms: how well each step of a memory fits a query.

Variables, as in TensorFlow 1.15: ``memory_layer/kernel`` where the mechanism is made, and
``<mechanism>/query_layer/kernel``, ``<mechanism>/attention_v`` … where it is called.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import _zero_state_tensors

from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import check_layer

# Monotonic attention (Raffel and others, 2017): alignments only move forward.


def hardmax(logits: tf.Tensor, name: str | None = None) -> tf.Tensor:
    """Return one at the largest logit of each row and zero elsewhere."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        depth = logits.shape.as_list()[-1] or tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)


def safe_cumprod(x: tf.Tensor, *args: Any, **kwargs: Any) -> tf.Tensor:
    """Return the cumulative product as a sum of logarithms, whose gradient does not explode."""
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        tiny = np.finfo(x.dtype.as_numpy_dtype).tiny
        return tf.exp(tf.cumsum(tf.log(tf.clip_by_value(x, tiny, 1)), *args, **kwargs))


def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> tf.Tensor:
    """Return the attention of a step from the one before it.

    ``mode`` is "recursive" (exact, slow), "parallel" (exact but for very small numbers) or
    "hard" (probabilities of 0 and 1 only).
    """
    p = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        attention = _recursive(p, previous)
    elif mode == "parallel":
        survived = safe_cumprod(1 - p, axis=1, exclusive=True)
        # Divided by the clipped product: numbers below 1e-10 would blow up.
        attention = p * survived * tf.cumsum(previous / tf.clip_by_value(survived, 1e-10, 1.0), 1)
    elif mode == "hard":
        reached = p * tf.cumsum(previous, 1)
        attention = reached * tf.cumprod(1 - reached, axis=1, exclusive=True)
    else:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    return attention


def _recursive(p: tf.Tensor, previous: tf.Tensor) -> tf.Tensor:
    batch = p.shape.as_list()[0] or tf.shape(p)[0]
    passed = tf.concat([tf.ones([batch, 1], p.dtype), 1 - p[:, :-1]], 1)
    reached = tf.scan(
        lambda x, step: tf.reshape(step[0] * x + step[1], [batch]),
        [tf.transpose(passed), tf.transpose(previous)],
        tf.zeros([batch], p.dtype),
    )
    return p * tf.transpose(reached)


def _monotonic_probability_fn(
    score: tf.Tensor,
    previous_alignments: tf.Tensor,
    sigmoid_noise: float,
    mode: str,
    seed: int | None = None,
) -> tf.Tensor:
    """Turn scores into monotonic alignments, with noise that drives them to 0 or 1."""
    if sigmoid_noise > 0:
        score += sigmoid_noise * tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
    p = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(p, previous_alignments, mode)


# How attention mechanisms score a query against keys, and how they mask a memory.
#
# The private names are those of TensorFlow 1.15: public scripts with own mechanisms use them.


def _luong_score(query: tf.Tensor, keys: tf.Tensor, scale: bool) -> tf.Tensor:
    depth, units = query.shape.as_list()[-1], keys.shape.as_list()[-1]
    if depth != units:
        raise ValueError(
            "Incompatible or unknown inner dimensions between query and keys.  "
            f"Query ({query}) has units: {depth}.  Keys ({keys}) have units: {units}.  "
            f"Perhaps you need to set num_units to the keys' dimension ({units})?"
        )
    score = tf.squeeze(tf.matmul(tf.expand_dims(query, 1), keys, transpose_b=True), [1])
    if not scale:
        return score
    return score * tf.get_variable("attention_g", [], query.dtype, tf.ones_initializer())


def _bahdanau_score(query: tf.Tensor, keys: tf.Tensor, normalize: bool) -> tf.Tensor:
    units, dtype = keys.shape.as_list()[2] or tf.shape(keys)[2], query.dtype
    v = tf.get_variable("attention_v", [units], dtype)
    together = keys + tf.expand_dims(query, 1)
    if normalize:
        start = tf.constant_initializer(math.sqrt(1.0 / units))
        g = tf.get_variable("attention_g", [], dtype, start)
        together += tf.get_variable("attention_b", [units], dtype, tf.zeros_initializer())
        v = g * v * tf.rsqrt(tf.reduce_sum(tf.square(v)))
    return tf.reduce_sum(v * tf.tanh(together), [2])


def _prepare_memory(memory: Any, lengths: Any, check_inner_dims_defined: bool) -> Any:
    def prepare(part: Any) -> tf.Tensor:
        part = tf.convert_to_tensor(part, name="memory")
        if check_inner_dims_defined and not part.shape[2:].is_fully_defined():
            raise ValueError(
                f"Expected memory {part.name} to have fully defined inner dims, "
                f"but saw shape: {part.shape}"
            )
        if lengths is None:
            return part
        batch = part.shape.as_list()[0] or tf.shape(part)[0]
        asked = tf.convert_to_tensor(lengths, name="memory_sequence_length")
        check = tf.assert_equal(
            asked.shape.as_list()[0] or tf.shape(asked)[0],
            batch,
            message="memory_sequence_length and memory tensor batch sizes do not match.",
        )
        with tf.control_dependencies([check] if check is not None else []):
            mask = tf.sequence_mask(asked, tf.shape(part)[1], dtype=part.dtype)
            ones = tf.ones([part.shape.ndims - 2], tf.int32)
            return part * tf.reshape(mask, tf.concat([tf.shape(mask), ones], 0))

    return tf.nest.map_structure(prepare, memory)


def _maybe_mask_score(score: tf.Tensor, lengths: Any, mask_value: Any) -> tf.Tensor:
    if lengths is None:
        return score
    check = tf.assert_positive(
        lengths, message="All values in memory_sequence_length must greater than zero."
    )
    with tf.control_dependencies([check] if check is not None else []):
        mask = tf.sequence_mask(lengths, maxlen=tf.shape(score)[1])
        return tf.where(mask, score, mask_value * tf.ones_like(score))


class AttentionMechanism:
    """The base of all mechanisms, for ``isinstance``."""

    @property
    def alignments_size(self) -> Any:
        raise NotImplementedError

    @property
    def state_size(self) -> Any:
        raise NotImplementedError


class _BaseAttentionMechanism(AttentionMechanism):
    """Keeps the memory, masked behind each length, and its keys."""

    def __init__(
        self,
        query_layer: Any,
        memory: tf.Tensor,
        probability_fn: Callable[[tf.Tensor, Any], tf.Tensor],
        memory_sequence_length: Any = None,
        memory_layer: Any = None,
        check_inner_dims_defined: bool = True,
        score_mask_value: Any = None,
        custom_key_value_fn: Callable[[Any, Any], tuple[Any, Any]] | None = None,
        name: str | None = None,
    ) -> None:
        check_layer("query_layer", query_layer)
        check_layer("memory_layer", memory_layer)
        if not callable(probability_fn):
            raise TypeError(
                f"probability_fn must be callable, saw type: {type(probability_fn).__name__}"
            )
        self._query_layer = query_layer
        self._memory_layer = memory_layer
        self.dtype = tf.as_dtype(memory_layer.dtype if memory_layer else memory.dtype)
        if score_mask_value is None:
            score_mask_value = self.dtype.as_numpy_dtype(-np.inf)

        def masked(score: tf.Tensor, previous: Any) -> tf.Tensor:
            score = _maybe_mask_score(score, memory_sequence_length, score_mask_value)
            return probability_fn(score, previous)

        self._probability_fn = masked
        with tf.name_scope(name, "BaseAttentionMechanismInit", [memory]):
            self._values = _prepare_memory(memory, memory_sequence_length, check_inner_dims_defined)
            self._keys = memory_layer(self._values) if memory_layer else self._values
            if custom_key_value_fn:
                self._keys, self._values = custom_key_value_fn(self._keys, self._values)
            shape = self._keys.shape.as_list()
            self._batch_size = shape[0] or tf.shape(self._keys)[0]
            self._alignments_size = shape[1] or tf.shape(self._keys)[1]

    @property
    def memory_layer(self) -> Any:
        return self._memory_layer

    @property
    def query_layer(self) -> Any:
        return self._query_layer

    @property
    def values(self) -> tf.Tensor:
        return self._values

    @property
    def keys(self) -> tf.Tensor:
        return self._keys

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def alignments_size(self) -> Any:
        return self._alignments_size

    @property
    def state_size(self) -> Any:
        return self._alignments_size

    def initial_alignments(self, batch_size: Any, dtype: Any) -> tf.Tensor:
        """Return the alignments before the first step: zeros."""
        return _zero_state_tensors(self._alignments_size, batch_size, dtype)

    def initial_state(self, batch_size: Any, dtype: Any) -> tf.Tensor:
        return self.initial_alignments(batch_size, dtype)

    def _score(self, query: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def __call__(self, query: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the alignments of a query and the next state, which they are too."""
        alignments = self._probability_fn(self._score(query), state)
        return alignments, alignments


class LuongAttention(_BaseAttentionMechanism):
    """Scores by the product of query and keys (Luong and others, 2015)."""

    def __init__(
        self,
        num_units: int,
        memory: tf.Tensor,
        memory_sequence_length: Any = None,
        scale: bool = False,
        probability_fn: Callable[[tf.Tensor], tf.Tensor] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "LuongAttention",
    ) -> None:
        probability = probability_fn or tf.nn.softmax
        super().__init__(
            query_layer=None,
            memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._name = name

    def _score(self, query: tf.Tensor) -> tf.Tensor:
        with tf.variable_scope(None, "luong_attention", [query]):
            return _luong_score(query, self._keys, self._scale)


class BahdanauAttention(_BaseAttentionMechanism):
    """Scores by a small network over query and keys (Bahdanau and others, 2015)."""

    def __init__(
        self,
        num_units: int,
        memory: tf.Tensor,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        probability_fn: Callable[[tf.Tensor], tf.Tensor] | None = None,
        score_mask_value: Any = None,
        dtype: Any = None,
        custom_key_value_fn: Any = None,
        name: str = "BahdanauAttention",
    ) -> None:
        probability = probability_fn or tf.nn.softmax
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype),
            memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=lambda score, _: probability(score),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            custom_key_value_fn=custom_key_value_fn,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._name = name

    def _score(self, query: tf.Tensor) -> tf.Tensor:
        with tf.variable_scope(None, "bahdanau_attention", [query]):
            return _bahdanau_score(self._query_layer(query), self._keys, self._normalize)


class _BaseMonotonicAttentionMechanism(_BaseAttentionMechanism):
    """A mechanism that starts at the first step of the memory."""

    _score_bias_init: float

    def initial_alignments(self, batch_size: Any, dtype: Any) -> tf.Tensor:
        return tf.one_hot(tf.zeros([batch_size], tf.int32), self._alignments_size, dtype=dtype)

    def _biased(self, score: tf.Tensor) -> tf.Tensor:
        start = tf.constant_initializer(self._score_bias_init)
        return score + tf.get_variable("attention_score_bias", [], score.dtype, start)


class BahdanauMonotonicAttention(_BaseMonotonicAttentionMechanism):
    """Monotonic attention with the scores of Bahdanau."""

    def __init__(
        self,
        num_units: int,
        memory: tf.Tensor,
        memory_sequence_length: Any = None,
        normalize: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "BahdanauMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=_dense(num_units, "query_layer", dtype),
            memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._normalize = normalize
        self._score_bias_init = score_bias_init

    def _score(self, query: tf.Tensor) -> tf.Tensor:
        with tf.variable_scope(None, "bahdanau_monotonic_attention", [query]):
            score = _bahdanau_score(self._query_layer(query), self._keys, self._normalize)
            return self._biased(score)


class LuongMonotonicAttention(_BaseMonotonicAttentionMechanism):
    """Monotonic attention with the scores of Luong."""

    def __init__(
        self,
        num_units: int,
        memory: tf.Tensor,
        memory_sequence_length: Any = None,
        scale: bool = False,
        score_mask_value: Any = None,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        dtype: Any = None,
        name: str = "LuongMonotonicAttention",
    ) -> None:
        super().__init__(
            query_layer=None,
            memory_layer=_dense(num_units, "memory_layer", dtype),
            memory=memory,
            probability_fn=functools.partial(
                _monotonic_probability_fn,
                sigmoid_noise=sigmoid_noise,
                mode=mode,
                seed=sigmoid_noise_seed,
            ),
            memory_sequence_length=memory_sequence_length,
            score_mask_value=score_mask_value,
            name=name,
        )
        self._num_units = num_units
        self._scale = scale
        self._score_bias_init = score_bias_init

    def _score(self, query: tf.Tensor) -> tf.Tensor:
        with tf.variable_scope(None, "luong_monotonic_attention", [query]):
            return self._biased(_luong_score(query, self._keys, self._scale))


def _dense(units: int, name: str, dtype: Any) -> Any:
    return tf.layers.Dense(units, name=name, use_bias=False, dtype=dtype or tf.float32)
