"""Attention mechanisms: how well each step of a memory fits a query.

Variables, as in TensorFlow 1.15: ``memory_layer/kernel`` where the mechanism is made, and
``<mechanism>/query_layer/kernel``, ``<mechanism>/attention_v`` … where it is called.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.rnn_cell_impl import _zero_state_tensors

from danlu_runtime.tf1.contrib.seq2seq.attention_scores import (
    _bahdanau_score,
    _luong_score,
    _maybe_mask_score,
    _prepare_memory,
)
from danlu_runtime.tf1.contrib.seq2seq.basic_decoder import check_layer
from danlu_runtime.tf1.contrib.seq2seq.monotonic import _monotonic_probability_fn


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
        self._probability_fn = lambda score, previous: probability_fn(
            _maybe_mask_score(score, memory_sequence_length, score_mask_value), previous
        )
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
