"""Mixtures: one of several distributions, chosen by a categorical."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.distributions.combined import CombinedDistribution

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
