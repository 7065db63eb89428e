"""Distributions made of others: transformed, repeated, independent, mixed."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf


class CombinedDistribution(tf.distributions.Distribution):
    def __init__(self, dtype: Any, kind: Any, validate_args: bool, name: str) -> None:
        super().__init__(
            dtype=dtype,
            reparameterization_type=kind,
            validate_args=validate_args,
            allow_nan_stats=True,
            parameters={},
            graph_parents=[],
            name=name,
        )


class TransformedDistribution(CombinedDistribution):
    """What a bijector makes of a distribution."""

    def __init__(
        self,
        distribution: Any,
        bijector: Any = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if bijector is None:
            from danlu_runtime.tf1.contrib.distributions.bijectors import Identity

            bijector = Identity()
        if batch_shape is not None or event_shape is not None:
            # A distribution of scalars is repeated over independent places.
            distribution = _Repeated(distribution, batch_shape, event_shape)
        self._distribution = distribution
        self._bijector = bijector
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            name or bijector.name + distribution.name.strip("/"),
        )

    @property
    def distribution(self) -> Any:
        return self._distribution

    @property
    def bijector(self) -> Any:
        return self._bijector

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._distribution.batch_shape_tensor()

    def _batch_shape(self) -> tf.TensorShape:
        return self._distribution.batch_shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._bijector.forward_event_shape_tensor(self._distribution.event_shape_tensor())

    def _event_shape(self) -> tf.TensorShape:
        return self._bijector.forward_event_shape(self._distribution.event_shape)

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return self._bijector.forward(self._distribution.sample(n, seed=seed))

    def _event_ndims(self) -> int:
        return int(self.event_shape.ndims)

    def _log_prob(self, y: tf.Tensor) -> tf.Tensor:
        x = self._bijector.inverse(y)
        log_prob = self._distribution.log_prob(x)
        extra = self._bijector.inverse_min_event_ndims - int(self._distribution.event_shape.ndims)
        if extra > 0:  # the bijector mixes what the distribution has as independent numbers
            log_prob = tf.reduce_sum(log_prob, list(range(-extra, 0)))
        ndims = max(self._event_ndims(), self._bijector.inverse_min_event_ndims)
        return log_prob + self._bijector.inverse_log_det_jacobian(y, event_ndims=ndims)

    def _cdf(self, y: tf.Tensor) -> tf.Tensor:
        return self._distribution.cdf(self._bijector.inverse(y))

    def _mean(self) -> tf.Tensor:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("mean is not implemented for non-affine bijectors")
        return self._bijector.forward(self._distribution.mean())

    def _entropy(self) -> tf.Tensor:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented for non-affine bijectors")
        zero = tf.zeros_like(self._distribution.mean())
        change = self._bijector.forward_log_det_jacobian(zero, event_ndims=self._event_ndims())
        return self._distribution.entropy() + change


class _Repeated(CombinedDistribution):
    """A distribution of single numbers, repeated over a batch and an event."""

    def __init__(self, distribution: Any, batch_shape: Any, event_shape: Any) -> None:
        self._one = distribution
        self._batch = tf.TensorShape([] if batch_shape is None else batch_shape)
        self._event = tf.TensorShape([] if event_shape is None else event_shape)
        name = distribution.name.strip("/")
        super().__init__(distribution.dtype, distribution.reparameterization_type, False, name)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._batch_shape().as_list(), tf.int32)

    def _batch_shape(self) -> tf.TensorShape:
        return self._one.batch_shape.concatenate(self._batch)

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._event.as_list(), tf.int32)

    def _event_shape(self) -> tf.TensorShape:
        return self._event

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        extra = [*self._batch.as_list(), *self._event.as_list()]
        drawn = self._one.sample(tf.concat([[n], tf.constant(extra, tf.int32)], 0), seed=seed)
        own = self._one.batch_shape.ndims
        if not own:
            return drawn
        axes = [0, *range(1 + len(extra), 1 + len(extra) + own), *range(1, 1 + len(extra))]
        return tf.transpose(drawn, axes)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        log_prob = self._one.log_prob(x)
        return tf.reduce_sum(log_prob, list(range(-self._event.ndims, 0)))


class Independent(CombinedDistribution):
    """Takes the last dimensions of a batch as one event."""

    def __init__(
        self,
        distribution: Any,
        reinterpreted_batch_ndims: int | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        ndims = int(distribution.batch_shape.ndims)
        default = max(0, ndims - 1)
        self._ndims = default if reinterpreted_batch_ndims is None else reinterpreted_batch_ndims
        if self._ndims > ndims:
            raise ValueError(
                f"reinterpreted_batch_ndims({self._ndims}) cannot exceed "
                f"distribution.batch_ndims({ndims})"
            )
        self._distribution = distribution
        kind = distribution.reparameterization_type
        name = name or "Independent" + distribution.name.strip("/")
        super().__init__(distribution.dtype, kind, validate_args, name)

    @property
    def distribution(self) -> Any:
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> int:
        return self._ndims

    def _split(self) -> int:
        return int(self._distribution.batch_shape.ndims) - self._ndims

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._distribution.batch_shape_tensor()[: self._split()]

    def _batch_shape(self) -> tf.TensorShape:
        return self._distribution.batch_shape[: self._split()]

    def _event_shape_tensor(self) -> tf.Tensor:
        batch = self._distribution.batch_shape_tensor()[self._split() :]
        return tf.concat([batch, self._distribution.event_shape_tensor()], 0)

    def _event_shape(self) -> tf.TensorShape:
        batch = self._distribution.batch_shape[self._split() :]
        return batch.concatenate(self._distribution.event_shape)

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        return self._distribution.sample(n, seed=seed)

    def _sum(self, values: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(values, list(range(-self._ndims, 0))) if self._ndims else values

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        return self._sum(self._distribution.log_prob(x))

    def _entropy(self) -> tf.Tensor:
        return self._sum(self._distribution.entropy())

    def _mean(self) -> tf.Tensor:
        return self._distribution.mean()

    def _variance(self) -> tf.Tensor:
        return self._distribution.variance()

    def _stddev(self) -> tf.Tensor:
        return self._distribution.stddev()

    def _mode(self) -> tf.Tensor:
        return self._distribution.mode()


@tf.distributions.RegisterKL(Independent, Independent)
def _kl(a: Independent, b: Independent, name: str | None = None) -> tf.Tensor:
    if a._ndims != b._ndims:
        raise NotImplementedError("KL between Independents of different numbers of dimensions.")
    return a._sum(tf.distributions.kl_divergence(a.distribution, b.distribution, name=name))


# Mixtures: one of several distributions, chosen by a categorical.


_NOT = tf.distributions.NOT_REPARAMETERIZED


class Mixture(CombinedDistribution):
    """One of several distributions, chosen by a categorical."""

    def __init__(
        self,
        cat: Any,
        components: Sequence[Any],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        if not components:
            raise ValueError("components must be a non-empty list or tuple")
        self._cat = cat
        self._components = list(components)
        super().__init__(components[0].dtype, _NOT, validate_args, name)

    @property
    def cat(self) -> Any:
        return self._cat

    @property
    def components(self) -> list[Any]:
        return self._components

    @property
    def num_components(self) -> int:
        return len(self._components)

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._cat.batch_shape_tensor()

    def _batch_shape(self) -> tf.TensorShape:
        return self._cat.batch_shape

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._components[0].event_shape_tensor()

    def _event_shape(self) -> tf.TensorShape:
        return self._components[0].event_shape

    def _log_weights(self) -> list[tf.Tensor]:
        return tf.unstack(tf.nn.log_softmax(self._cat.logits), axis=-1)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        pairs = zip(self._components, self._log_weights(), strict=True)
        return tf.reduce_logsumexp(tf.stack([c.log_prob(x) + w for c, w in pairs], 0), 0)

    def _mean(self) -> tf.Tensor:
        weights = [tf.exp(weight) for weight in self._log_weights()]
        ndims = int(self.event_shape.ndims)
        means = [component.mean() for component in self._components]
        return tf.add_n([_wide(w, ndims) * mean for w, mean in zip(weights, means, strict=True)])

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        drawn = tf.stack([component.sample(n) for component in self._components], 0)
        return _chosen(drawn, self._cat.sample(n, seed=seed), int(self.event_shape.ndims))


class MixtureSameFamily(CombinedDistribution):
    """One row of a batch of distributions, chosen by a categorical; rows are last in the batch."""

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        self._cat = mixture_distribution
        self._rows = components_distribution
        super().__init__(components_distribution.dtype, _NOT, validate_args, name)

    @property
    def mixture_distribution(self) -> Any:
        return self._cat

    @property
    def components_distribution(self) -> Any:
        return self._rows

    def _batch_shape_tensor(self) -> tf.Tensor:
        return self._rows.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return self._rows.batch_shape[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return self._rows.event_shape_tensor()

    def _event_shape(self) -> tf.TensorShape:
        return self._rows.event_shape

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        x = tf.expand_dims(x, -1 - int(self.event_shape.ndims))
        return tf.reduce_logsumexp(self._rows.log_prob(x) + tf.nn.log_softmax(self._cat.logits), -1)

    def _mean(self) -> tf.Tensor:
        ndims = int(self.event_shape.ndims)
        weights = _wide(tf.nn.softmax(self._cat.logits), ndims)
        return tf.reduce_sum(weights * self._rows.mean(), -1 - ndims)

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        ndims = int(self.event_shape.ndims)
        drawn = self._rows.sample(n)
        place = drawn.shape.ndims - 1 - ndims
        first = [place, *(axis for axis in range(drawn.shape.ndims) if axis != place)]
        size = tf.concat([[n], self._batch_shape_tensor()], 0)
        chosen = tf.broadcast_to(self._cat.sample(n, seed=seed), size)
        return _chosen(tf.transpose(drawn, first), chosen, ndims)


def _wide(weights: tf.Tensor, ndims: int) -> tf.Tensor:
    for _ in range(ndims):
        weights = tf.expand_dims(weights, -1)
    return weights


def _chosen(drawn: tf.Tensor, ids: tf.Tensor, ndims: int) -> tf.Tensor:
    """Return of stacked samples, component first, those that were chosen."""
    count = drawn.shape.as_list()[0]
    mask = tf.one_hot(ids, count, axis=0, dtype=drawn.dtype)
    return tf.reduce_sum(drawn * _wide(mask, ndims), 0)
