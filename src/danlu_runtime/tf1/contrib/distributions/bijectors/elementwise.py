"""Bijectors that take each number for itself."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.util import softplus_inverse

from danlu_runtime.tf1.contrib.distributions.bijectors.base import Bijector


class _Elementwise(Bijector):
    def __init__(self, validate_args: bool, name: str) -> None:
        super().__init__(forward_min_event_ndims=0, validate_args=validate_args, name=name)


class PowerTransform(_Elementwise):
    """``(1 + x * power) ** (1 / power)``, which is ``exp`` for a power of zero."""

    def __init__(
        self, power: float = 0.0, validate_args: bool = False, name: str = "power_transform"
    ) -> None:
        if power < 0:
            raise ValueError("`power` must be a non-negative TF constant.")
        self._power = power
        super().__init__(validate_args, name)

    @property
    def power(self) -> float:
        return self._power

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        if self._power == 0.0:
            return tf.exp(x)
        return tf.exp(tf.log1p(x * self._power) / self._power)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        if self._power == 0.0:
            return tf.log(y)
        return tf.expm1(tf.log(y) * self._power) / self._power

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return (self._power - 1.0) * tf.log(y)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        if self._power == 0.0:
            return tf.identity(x)
        return (1.0 / self._power - 1.0) * tf.log1p(x * self._power)


class Exp(PowerTransform):
    """``exp(x)``."""

    def __init__(self, validate_args: bool = False, name: str = "exp") -> None:
        super().__init__(0.0, validate_args, name)


class Sigmoid(_Elementwise):
    """``1 / (1 + exp(-x))``."""

    def __init__(self, validate_args: bool = False, name: str = "sigmoid") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.sigmoid(x)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.log(y) - tf.log1p(-y)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.log(y) - tf.log1p(-y)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.nn.softplus(-x) - tf.nn.softplus(x)


class Softplus(_Elementwise):
    """``c * log(1 + exp(x / c))`` with hinge softness ``c``."""

    def __init__(
        self, hinge_softness: Any = None, validate_args: bool = False, name: str = "softplus"
    ) -> None:
        self._softness = 1.0 if hinge_softness is None else tf.convert_to_tensor(hinge_softness)
        super().__init__(validate_args, name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return self._softness * tf.nn.softplus(x / self._softness)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self._softness * softplus_inverse(y / self._softness)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.log(-tf.expm1(-y / self._softness))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -tf.nn.softplus(-x / self._softness)


class Softsign(_Elementwise):
    """``x / (1 + |x|)``."""

    def __init__(self, validate_args: bool = False, name: str = "softsign") -> None:
        super().__init__(validate_args, name)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return x / (1.0 + tf.abs(x))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return y / (1.0 - tf.abs(y))

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return -2.0 * tf.log1p(tf.abs(x))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -2.0 * tf.log1p(-tf.abs(y))


class AffineScalar(Bijector):
    """``scale * x + shift``, number by number."""

    def __init__(
        self,
        shift: Any = None,
        scale: Any = None,
        validate_args: bool = False,
        name: str = "affine_scalar",
    ) -> None:
        self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
        self._scale = None if scale is None else tf.convert_to_tensor(scale, name="scale")
        super().__init__(
            forward_min_event_ndims=0,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        return self._shift

    @property
    def scale(self) -> Any:
        return self._scale

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        y = tf.identity(x) if self._scale is None else x * self._scale
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = tf.identity(y) if self._shift is None else y - self._shift
        return x if self._scale is None else x / self._scale

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        if self._scale is None:
            return tf.constant(0.0, x.dtype.base_dtype)
        return tf.log(tf.abs(self._scale))
