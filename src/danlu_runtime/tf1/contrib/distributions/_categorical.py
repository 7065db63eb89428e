"""Choices as one-hot vectors, and their smooth relatives (Jang; Maddison and others, 2017)."""

from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.util import get_logits_and_probs

from danlu_runtime.tf1.contrib.distributions._scalar import ScalarDistribution


class _Choice(tf.distributions.Distribution):
    """What distributions over ``[…, classes]`` share."""

    def __init__(self, logits: Any, probs: Any, dtype: Any, kind: Any, options: Any) -> None:
        self._logits, self._probs = get_logits_and_probs(logits, probs, True)
        super().__init__(
            dtype=self._logits.dtype if dtype is None else dtype,
            reparameterization_type=kind,
            validate_args=options["validate_args"],
            allow_nan_stats=options["allow_nan_stats"],
            parameters={"logits": logits, "probs": probs},
            graph_parents=[self._logits, self._probs],
            name=options["name"],
        )

    @property
    def logits(self) -> tf.Tensor:
        return self._logits

    @property
    def probs(self) -> tf.Tensor:
        return self._probs

    @property
    def event_size(self) -> tf.Tensor:
        return tf.shape(self._logits)[-1]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._logits)[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return self._logits.shape[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.shape(self._logits)[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return self._logits.shape[-1:]

    def _gumbel(self, n: Any, seed: Any) -> tf.Tensor:
        dtype = self._logits.dtype
        tiny = np.finfo(dtype.as_numpy_dtype).tiny
        shape = tf.concat([[n], tf.shape(self._logits)], 0)
        uniform = tf.random_uniform(shape, minval=tiny, maxval=1.0, dtype=dtype, seed=seed)
        return self._logits - tf.log(-tf.log(uniform))


class OneHotCategorical(_Choice):
    """One of several classes, as a vector of zeros and a one."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = tf.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        kind = tf.distributions.NOT_REPARAMETERIZED
        super().__init__(logits, probs, dtype, kind, dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        chosen = tf.argmax(self._gumbel(n, seed), -1)
        return tf.one_hot(chosen, self.event_size, dtype=self.dtype)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.cast(x, self._logits.dtype) * tf.nn.log_softmax(self._logits), -1)

    def _entropy(self) -> tf.Tensor:
        return -tf.reduce_sum(self._probs * tf.nn.log_softmax(self._logits), -1)

    def _mean(self) -> tf.Tensor:
        return tf.identity(self._probs)

    def _variance(self) -> tf.Tensor:
        return self._probs * (1.0 - self._probs)

    def _mode(self) -> tf.Tensor:
        return tf.one_hot(tf.argmax(self._logits, -1), self.event_size, dtype=self.dtype)


class ExpRelaxedOneHotCategorical(_Choice):
    """The logarithm of a relaxed choice: safe where the choice itself underflows."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        options = dict(locals())
        super().__init__(logits, probs, dtype, tf.distributions.FULLY_REPARAMETERIZED, options)
        self._temperature = tf.convert_to_tensor(temperature, self._logits.dtype)

    @property
    def temperature(self) -> tf.Tensor:
        return self._temperature

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return tf.nn.log_softmax(self._gumbel(n, seed) / self._temperature)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        size = tf.cast(self.event_size, x.dtype)
        powers = tf.nn.log_softmax(self._logits - x * self._temperature)
        constant = tf.lgamma(size) + (size - 1.0) * tf.log(self._temperature)
        return tf.reduce_sum(powers, -1) + constant


class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
    """A choice that is not quite made: a vector of sum one, sharper with less temperature."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        super().__init__(temperature, logits, probs, dtype, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return tf.exp(super()._sample_n(n, seed))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        logs = tf.log(x)
        return super()._log_prob(logs) - tf.reduce_sum(logs, -1)


class RelaxedBernoulli(ScalarDistribution):
    """A coin that does not quite fall: a number between zero and one."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        self._logits, self._probs = get_logits_and_probs(logits, probs, False, validate_args)
        dtype = self._probs.dtype
        tensors = {
            "temperature": tf.convert_to_tensor(temperature, dtype, name="temperature"),
            "probs": self._probs,
        }
        kind = tf.distributions.FULLY_REPARAMETERIZED
        super().__init__(tensors, dtype, kind, dict(locals()))

    @property
    def temperature(self) -> tf.Tensor:
        return self._tensors["temperature"]

    @property
    def logits(self) -> tf.Tensor:
        return self._logits

    @property
    def probs(self) -> tf.Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        u = self._uniform(n, seed, self.dtype)
        return tf.sigmoid((self._logits + tf.log(u) - tf.log1p(-u)) / self.temperature)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        t, logit = self.temperature, tf.log(x) - tf.log1p(-x)
        z = t * logit - self._logits
        density = tf.log(t) - z - 2.0 * tf.nn.softplus(-z)
        return density - tf.log(x) - tf.log1p(-x)


@tf.distributions.RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl(a: OneHotCategorical, b: OneHotCategorical, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_categorical_categorical"):
        difference = tf.nn.log_softmax(a.logits) - tf.nn.log_softmax(b.logits)
        return tf.reduce_sum(a.probs * difference, -1)
