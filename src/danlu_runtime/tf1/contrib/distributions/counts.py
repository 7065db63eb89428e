"""Distributions of counts."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.util import get_logits_and_probs

from danlu_runtime.tf1.contrib.distributions.scalar import ScalarDistribution

_NOT = tf.distributions.NOT_REPARAMETERIZED


class Poisson(ScalarDistribution):
    """The number of events at a given rate."""

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        if log_rate is None:
            self._rate = tf.convert_to_tensor(rate, name="rate")
            self._log_rate = tf.log(self._rate)
        else:
            self._log_rate = tf.convert_to_tensor(log_rate, name="log_rate")
            self._rate = tf.exp(self._log_rate)
        super().__init__({"rate": self._rate}, self._rate.dtype, _NOT, dict(locals()))

    @property
    def rate(self) -> tf.Tensor:
        return self._rate

    @property
    def log_rate(self) -> tf.Tensor:
        return self._log_rate

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return tf.random_poisson(self.rate, [n], dtype=self.dtype, seed=seed)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return x * self.log_rate - tf.lgamma(1.0 + x) - self.rate

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.igammac(1.0 + tf.maximum(x, 0.0), self.rate)

    def _mean(self) -> tf.Tensor:
        return tf.identity(self.rate)

    def _variance(self) -> tf.Tensor:
        return tf.identity(self.rate)

    def _mode(self) -> tf.Tensor:
        return tf.floor(self.rate)


class Binomial(ScalarDistribution):
    """The number of successes of ``total_count`` tries."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        self._logits, self._probs = get_logits_and_probs(logits, probs, False, validate_args)
        count = tf.convert_to_tensor(total_count, self._probs.dtype, name="total_count")
        tensors = {"total_count": count, "probs": self._probs}
        super().__init__(tensors, self._probs.dtype, _NOT, dict(locals()))

    @property
    def total_count(self) -> tf.Tensor:
        return self._tensors["total_count"]

    @property
    def logits(self) -> tf.Tensor:
        return self._logits

    @property
    def probs(self) -> tf.Tensor:
        return self._probs

    def _log_prob(self, counts: tf.Tensor) -> tf.Tensor:
        n = self.total_count
        chosen = tf.lgamma(1.0 + n) - tf.lgamma(1.0 + counts) - tf.lgamma(1.0 + n - counts)
        return chosen + counts * tf.log(self.probs) + (n - counts) * tf.log1p(-self.probs)

    def _mean(self) -> tf.Tensor:
        return self.total_count * self.probs

    def _variance(self) -> tf.Tensor:
        return self._mean() * (1 - self.probs)

    def _mode(self) -> tf.Tensor:
        return tf.floor((1.0 + self.total_count) * self.probs)


class Geometric(ScalarDistribution):
    """The number of failures before the first success."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        self._logits, self._probs = get_logits_and_probs(logits, probs, False, validate_args)
        super().__init__({"probs": self._probs}, self._probs.dtype, _NOT, dict(locals()))

    @property
    def logits(self) -> tf.Tensor:
        return self._logits

    @property
    def probs(self) -> tf.Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return tf.floor(tf.log(self._uniform(n, seed, self.dtype)) / tf.log1p(-self.probs))

    def _log_prob(self, counts: tf.Tensor) -> tf.Tensor:
        return counts * tf.log1p(-self.probs) + tf.log(self.probs)

    def _cdf(self, counts: tf.Tensor) -> tf.Tensor:
        return 1.0 - tf.exp((1.0 + tf.floor(counts)) * tf.log1p(-self.probs))

    def _mean(self) -> tf.Tensor:
        return tf.exp(-self.logits)

    def _variance(self) -> tf.Tensor:
        return self._mean() / self.probs

    def _mode(self) -> tf.Tensor:
        return tf.zeros(self._batch_shape_tensor(), self.dtype)
