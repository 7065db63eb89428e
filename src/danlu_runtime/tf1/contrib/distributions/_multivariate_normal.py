"""Normal vectors: ``loc + scale @ z`` with independent ``z``."""

import math
from typing import Any

import tensorflow.compat.v1 as tf


class MultivariateNormal(tf.distributions.Distribution):
    """A normal vector with a lower-triangular scale ``[…, k, k]``, or a diagonal ``[…, k]``."""

    def __init__(
        self,
        loc: Any,
        diag: tf.Tensor | None,
        tril: tf.Tensor | None,
        options: dict[str, Any],
    ) -> None:
        self._diag, self._tril = diag, tril
        scale: Any = diag if tril is None else tril[..., 0]
        if loc is None:
            self._loc = tf.zeros_like(scale)
        else:
            self._loc = tf.convert_to_tensor(loc, name="loc")
        super().__init__(
            dtype=scale.dtype,
            reparameterization_type=tf.distributions.FULLY_REPARAMETERIZED,
            validate_args=options["validate_args"],
            allow_nan_stats=options["allow_nan_stats"],
            parameters={"loc": loc},
            graph_parents=[self._loc, diag if tril is None else tril],
            name=options["name"],
        )

    @property
    def loc(self) -> tf.Tensor:
        return self._loc

    @property
    def scale(self) -> Any:
        """The scale as a linear operator."""
        if self._tril is None:
            return tf.linalg.LinearOperatorDiag(self._diag)
        return tf.linalg.LinearOperatorLowerTriangular(self._tril)

    def _rows(self) -> tf.Tensor:
        return self._diag if self._tril is None else self._tril[..., 0]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.broadcast_dynamic_shape(tf.shape(self._loc), tf.shape(self._rows()))[:-1]

    def _batch_shape(self) -> tf.TensorShape:
        return tf.broadcast_static_shape(self._loc.shape, self._rows().shape)[:-1]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.broadcast_dynamic_shape(tf.shape(self._loc), tf.shape(self._rows()))[-1:]

    def _event_shape(self) -> tf.TensorShape:
        return tf.broadcast_static_shape(self._loc.shape, self._rows().shape)[-1:]

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        shape = tf.concat([[n], self._batch_shape_tensor(), self._event_shape_tensor()], 0)
        z = tf.random_normal(shape, dtype=self.dtype, seed=seed)
        if self._tril is None:
            return self._loc + self._diag * z
        return self._loc + tf.linalg.matvec(self._tril, z)

    def _whitened(self, x: tf.Tensor) -> tf.Tensor:
        centred = x - self._loc
        if self._tril is None:
            return centred / self._diag
        centred += tf.zeros_like(self._tril[..., 0])
        tril = self._tril + tf.zeros_like(centred)[..., tf.newaxis]
        solved = tf.linalg.triangular_solve(tril, centred[..., tf.newaxis])
        return tf.squeeze(solved, -1)

    def _log_det(self) -> tf.Tensor:
        diag = self._diag if self._tril is None else tf.matrix_diag_part(self._tril)
        return tf.reduce_sum(tf.log(tf.abs(diag)), -1)

    def _log_prob(self, x: tf.Tensor) -> tf.Tensor:
        size = tf.cast(self._event_shape_tensor()[0], self.dtype)
        squares = tf.reduce_sum(tf.square(self._whitened(x)), -1)
        return -0.5 * (squares + size * math.log(2 * math.pi)) - self._log_det()

    def _entropy(self) -> tf.Tensor:
        size = tf.cast(self._event_shape_tensor()[0], self.dtype)
        entropy = 0.5 * size * (1.0 + math.log(2 * math.pi)) + self._log_det()
        return entropy + tf.zeros(self._batch_shape_tensor(), self.dtype)

    def _mean(self) -> tf.Tensor:
        return self._loc + tf.zeros_like(self._rows())

    def _mode(self) -> tf.Tensor:
        return self._mean()

    def _dense(self) -> tf.Tensor:
        return tf.matrix_diag(self._diag) if self._tril is None else self._tril

    def _covariance(self) -> tf.Tensor:
        return tf.matmul(self._dense(), self._dense(), adjoint_b=True)

    def _variance(self) -> tf.Tensor:
        if self._tril is None:
            return tf.square(self._diag) + tf.zeros_like(self._loc)
        return tf.reduce_sum(tf.square(self._tril), -1) + tf.zeros_like(self._loc)

    def _stddev(self) -> tf.Tensor:
        return tf.sqrt(self._variance())


class MultivariateNormalDiag(MultivariateNormal):
    """Independent normal numbers as one vector."""

    def __init__(
        self,
        loc: Any = None,
        scale_diag: Any = None,
        scale_identity_multiplier: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiag",
    ) -> None:
        options = dict(locals())
        super().__init__(loc, _diagonal(loc, scale_diag, scale_identity_multiplier), None, options)


class MultivariateNormalDiagWithSoftplusScale(MultivariateNormal):
    """The same with the softplus of ``scale_diag`` as its scale."""

    def __init__(
        self,
        loc: Any,
        scale_diag: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalDiagWithSoftplusScale",
    ) -> None:
        options = dict(locals())
        scale = tf.nn.softplus(tf.convert_to_tensor(scale_diag))
        super().__init__(loc, _diagonal(loc, scale, None), None, options)


class MultivariateNormalTriL(MultivariateNormal):
    """A normal vector with a lower-triangular scale."""

    def __init__(
        self,
        loc: Any = None,
        scale_tril: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalTriL",
    ) -> None:
        options = dict(locals())
        if loc is None and scale_tril is None:
            raise ValueError("Must specify one or both of `loc`, `scale_tril`.")
        if scale_tril is None:
            super().__init__(loc, tf.ones_like(tf.convert_to_tensor(loc)), None, options)
            return
        # As in 1.15 what stands above the diagonal counts for nothing.
        tril = tf.matrix_band_part(tf.convert_to_tensor(scale_tril, name="scale_tril"), -1, 0)
        super().__init__(loc, None, tril, options)


class MultivariateNormalFullCovariance(MultivariateNormal):
    """A normal vector with a covariance matrix."""

    def __init__(
        self,
        loc: Any = None,
        covariance_matrix: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MultivariateNormalFullCovariance",
    ) -> None:
        options = dict(locals())
        if covariance_matrix is None:
            super().__init__(loc, tf.ones_like(tf.convert_to_tensor(loc)), None, options)
            return
        super().__init__(loc, None, tf.cholesky(tf.convert_to_tensor(covariance_matrix)), options)


def _diagonal(loc: Any, diag: Any, multiplier: Any) -> tf.Tensor:
    if diag is None and multiplier is None:
        return tf.ones_like(tf.convert_to_tensor(loc))
    parts = []
    if diag is not None:
        parts.append(tf.convert_to_tensor(diag, name="scale_diag"))
    if multiplier is not None:
        if loc is None and diag is None:
            raise ValueError("`loc` or `scale_diag` must say how long the vector is.")
        like = tf.convert_to_tensor(loc if diag is None else diag)
        factor = tf.expand_dims(tf.convert_to_tensor(multiplier, like.dtype), -1)
        parts.append(factor * tf.ones_like(like))
    return tf.add_n(parts) if len(parts) == 2 and parts[0].shape == parts[1].shape else sum(parts)


@tf.distributions.RegisterKL(MultivariateNormal, MultivariateNormal)
def _kl(a: MultivariateNormal, b: MultivariateNormal, name: str | None = None) -> tf.Tensor:
    with tf.name_scope(name, "kl_mvn_mvn"):
        size = tf.cast(a._event_shape_tensor()[0], a.dtype)
        ratio = tf.linalg.matmul(tf.linalg.inv(b._dense()), a._dense())
        trace = tf.reduce_sum(tf.square(ratio), [-1, -2])
        distance = tf.reduce_sum(tf.square(b._whitened(a._mean())), -1)
        return b._log_det() - a._log_det() + 0.5 * (trace + distance - size)
