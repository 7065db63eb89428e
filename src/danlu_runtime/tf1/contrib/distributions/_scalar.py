"""Distributions of numbers and of counts that ``tf.distributions`` lacks."""

import math
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.gamma import Gamma
from tensorflow.python.ops.distributions.util import get_logits_and_probs

_FULLY = tf.distributions.FULLY_REPARAMETERIZED


class ScalarDistribution(tf.distributions.Distribution):
    """A batch of distributions over numbers: its shape is that of all parameters together."""

    def __init__(
        self,
        tensors: dict[str, tf.Tensor],
        dtype: Any,
        reparameterization_type: Any,
        options: dict[str, Any],
    ) -> None:
        self._tensors = tensors
        super().__init__(
            dtype=dtype,
            reparameterization_type=reparameterization_type,
            validate_args=options["validate_args"],
            allow_nan_stats=options["allow_nan_stats"],
            parameters=dict(tensors),
            graph_parents=list(tensors.values()),
            name=options["name"],
        )

    def _batch_shape_tensor(self) -> tf.Tensor:
        shape = tf.constant([], tf.int32)
        for tensor in self._tensors.values():
            shape = tf.broadcast_dynamic_shape(shape, tf.shape(tensor))
        return shape

    def _batch_shape(self) -> tf.TensorShape:
        shape = tf.TensorShape([])
        for tensor in self._tensors.values():
            shape = tf.broadcast_static_shape(shape, tensor.shape)
        return shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant([], tf.int32)

    def _event_shape(self) -> tf.TensorShape:
        return tf.TensorShape([])

    def _uniform(self, n: Any, seed: Any, dtype: Any) -> tf.Tensor:
        """Draw from the open interval: the logarithm of zero is no sample."""
        shape = tf.concat([[n], self._batch_shape_tensor()], 0)
        tiny = np.finfo(dtype.as_numpy_dtype).tiny
        return tf.random_uniform(shape, minval=tiny, maxval=1.0, dtype=dtype, seed=seed)

    def _whole(self, tensor: tf.Tensor) -> tf.Tensor:
        return tensor + tf.zeros(self._batch_shape_tensor(), tensor.dtype)


def _tensor(value: Any, name: str) -> tf.Tensor:
    return tf.convert_to_tensor(value, name=name)


class _LocationScale(ScalarDistribution):
    def __init__(self, loc: Any, scale: Any, options: dict[str, Any]) -> None:
        tensors = {"loc": _tensor(loc, "loc"), "scale": _tensor(scale, "scale")}
        super().__init__(tensors, tensors["scale"].dtype, _FULLY, options)

    @property
    def loc(self) -> tf.Tensor:
        return self._tensors["loc"]

    @property
    def scale(self) -> tf.Tensor:
        return self._tensors["scale"]

    def _z(self, x: tf.Tensor) -> tf.Tensor:
        return (x - self.loc) / self.scale


class Logistic(_LocationScale):
    """The distribution whose cumulative function is the sigmoid."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Logistic",
    ) -> None:
        super().__init__(loc, scale, dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        u = self._uniform(n, seed, self.dtype)
        return (tf.log(u) - tf.log1p(-u)) * self.scale + self.loc

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        z = self._z(x)
        return -z - 2.0 * tf.nn.softplus(-z) - tf.log(self.scale)

    def _log_cdf(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.nn.softplus(-self._z(x))

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(self._z(x))

    def _entropy(self) -> tf.Tensor:
        return self._whole(2.0 + tf.log(self.scale))

    def _mean(self) -> tf.Tensor:
        return self._whole(self.loc)

    def _stddev(self) -> tf.Tensor:
        return self._whole(self.scale * math.pi / math.sqrt(3.0))

    def _mode(self) -> tf.Tensor:
        return self._mean()


class Gumbel(_LocationScale):
    """The distribution of the largest of many numbers."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gumbel",
    ) -> None:
        super().__init__(loc, scale, dict(locals()))

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return self.loc - self.scale * tf.log(-tf.log(self._uniform(n, seed, self.dtype)))

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        z = self._z(x)
        return -z - tf.exp(-z) - tf.log(self.scale)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.exp(-tf.exp(-self._z(x)))

    def _entropy(self) -> tf.Tensor:
        return self._whole(1.0 + tf.log(self.scale) + np.euler_gamma)

    def _mean(self) -> tf.Tensor:
        return self._whole(self.loc + self.scale * np.euler_gamma)

    def _stddev(self) -> tf.Tensor:
        return self._whole(self.scale * math.pi / math.sqrt(6))

    def _mode(self) -> tf.Tensor:
        return self._whole(self.loc)


class HalfNormal(ScalarDistribution):
    """The size of a normal number of mean zero."""

    def __init__(
        self,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "HalfNormal",
    ) -> None:
        tensor = _tensor(scale, "scale")
        super().__init__({"scale": tensor}, tensor.dtype, _FULLY, dict(locals()))

    @property
    def scale(self) -> tf.Tensor:
        return self._tensors["scale"]

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        shape = tf.concat([[n], self._batch_shape_tensor()], 0)
        return tf.abs(tf.random_normal(shape, dtype=self.dtype, seed=seed)) * self.scale

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        density = math.sqrt(2 / math.pi) / self.scale * tf.exp(-0.5 * tf.square(x / self.scale))
        return tf.where(x > 0, density, tf.zeros_like(density))

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.erf(tf.maximum(x, 0.0) / self.scale / math.sqrt(2.0))

    def _mean(self) -> tf.Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    def _variance(self) -> tf.Tensor:
        return self.scale**2 * (1.0 - 2.0 / math.pi)

    def _entropy(self) -> tf.Tensor:
        return 0.5 * tf.log(math.pi * self.scale**2 / 2.0) + 0.5


class Chi2(Gamma):
    """The sum of ``df`` squared normal numbers."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        self._df = _tensor(df, "df")
        half = tf.constant(0.5, self._df.dtype)
        super().__init__(half * self._df, half, validate_args, allow_nan_stats, name)

    @property
    def df(self) -> tf.Tensor:
        return self._df


class Deterministic(ScalarDistribution):
    """A number that is certain."""

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        tensor = _tensor(loc, "loc")
        self._slack = (0 if atol is None else atol) + (0 if rtol is None else rtol) * tf.abs(tensor)
        super().__init__({"loc": tensor}, tensor.dtype, _FULLY, dict(locals()))

    @property
    def loc(self) -> tf.Tensor:
        return self._tensors["loc"]

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return self.loc + tf.zeros(tf.concat([[n], self._batch_shape_tensor()], 0), self.dtype)

    def _prob(self, x: tf.Tensor) -> tf.Tensor:
        return tf.cast(tf.abs(x - self.loc) <= self._slack, self.dtype)

    def _cdf(self, x: tf.Tensor) -> tf.Tensor:
        return tf.cast(x >= self.loc - self._slack, self.dtype)

    def _mean(self) -> tf.Tensor:
        return tf.identity(self.loc)

    def _variance(self) -> tf.Tensor:
        return tf.zeros_like(self.loc)

    def _mode(self) -> tf.Tensor:
        return self._mean()


# Distributions of counts.


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
