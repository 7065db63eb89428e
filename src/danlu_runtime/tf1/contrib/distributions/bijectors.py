"""tf.contrib.distributions.bijectors: invertible functions with their Jacobians."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops.distributions.bijector_impl import Bijector
from tensorflow.python.ops.distributions.identity_bijector import Identity  # noqa: F401
from tensorflow.python.ops.distributions.util import softplus_inverse as _softplus_inverse

# The base of bijectors, which TensorFlow 2.21 still has, without what its optimizer breaks.
#
# The graph optimizer of TensorFlow 2.21 takes ``-reduce_sum(-x, axis=[])`` for ``-x``. The base
# class builds just that when there is nothing to sum over, and the sign of a determinant was lost.


_summed = Bijector._reduce_jacobian_det_over_event


def _reduce(self: Any, y: Any, ildj: Any, min_event_ndims: int, event_ndims: Any) -> Any:
    if isinstance(event_ndims, int) and event_ndims == min_event_ndims:
        return ildj
    return _summed(self, y, ildj, min_event_ndims, event_ndims)


Bijector._reduce_jacobian_det_over_event = _reduce


# Bijectors that take each number for itself.


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
        return self._softness * _softplus_inverse(y / self._softness)

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


# Bijectors over vectors: affine, permuted, reshaped, on the simplex, moved by a network.


class Affine(Bijector):
    """``scale @ x + shift`` for vectors; the scale is the sum of all that is given."""

    def __init__(
        self,
        shift: Any = None,
        scale_identity_multiplier: Any = None,
        scale_diag: Any = None,
        scale_tril: Any = None,
        scale_perturb_factor: Any = None,
        scale_perturb_diag: Any = None,
        validate_args: bool = False,
        name: str = "affine",
    ) -> None:
        if scale_perturb_factor is not None or scale_perturb_diag is not None:
            raise NotImplementedError(
                "Affine of today has no low-rank part (scale_perturb_factor); write the whole "
                "matrix as scale_tril instead."
            )
        self._shift = None if shift is None else tf.convert_to_tensor(shift, name="shift")
        self._multiplier = _optional(scale_identity_multiplier)
        self._diag = _optional(scale_diag)
        self._tril = None
        if scale_tril is not None:
            self._tril = tf.matrix_band_part(tf.convert_to_tensor(scale_tril), -1, 0)
            if self._diag is not None:
                self._tril += tf.matrix_diag(self._diag)
            if self._multiplier is not None:
                eye = tf.ones_like(tf.matrix_diag_part(self._tril))
                self._tril += tf.matrix_diag(eye * self._multiplier[..., tf.newaxis])
        elif self._diag is not None and self._multiplier is not None:
            self._diag += self._multiplier[..., tf.newaxis]
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name,
        )

    @property
    def shift(self) -> Any:
        return self._shift

    def _vector(self) -> tf.Tensor | None:
        if self._diag is not None or self._multiplier is None:
            return self._diag
        return self._multiplier[..., tf.newaxis]

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        if self._tril is not None:
            y = tf.linalg.matvec(self._tril, x)
        else:
            vector = self._vector()
            y = tf.identity(x) if vector is None else x * vector
        return y if self._shift is None else y + self._shift

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        x = y if self._shift is None else y - self._shift
        if self._tril is not None:
            tril = self._tril + tf.zeros_like(x)[..., tf.newaxis]
            return tf.squeeze(tf.linalg.triangular_solve(tril, x[..., tf.newaxis]), -1)
        vector = self._vector()
        return tf.identity(x) if vector is None else x / vector

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        diag = self._vector() if self._tril is None else tf.matrix_diag_part(self._tril)
        if diag is None:
            return tf.constant(0.0, x.dtype.base_dtype)
        return tf.reduce_sum(tf.log(tf.abs(diag)) + tf.zeros_like(x), -1)


class Permute(Bijector):
    """The last dimension in another order."""

    def __init__(
        self, permutation: Any, validate_args: bool = False, name: str | None = None
    ) -> None:
        self._permutation = tf.convert_to_tensor(permutation, name="permutation")
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "permute",
        )

    @property
    def permutation(self) -> tf.Tensor:
        return self._permutation

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.gather(x, self._permutation, axis=-1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.gather(y, tf.invert_permutation(self._permutation), axis=-1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, y.dtype.base_dtype)


class Reshape(Bijector):
    """The event in another shape."""

    def __init__(
        self,
        event_shape_out: Any,
        event_shape_in: Any = (-1,),
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._out = [int(size) for size in event_shape_out]
        self._in = [int(size) for size in event_shape_in]
        super().__init__(
            forward_min_event_ndims=len(self._in),
            inverse_min_event_ndims=len(self._out),
            is_constant_jacobian=True,
            validate_args=validate_args,
            name=name or "reshape",
        )

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reshape(x, tf.concat([tf.shape(x)[: -len(self._in)], self._out], 0))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return tf.reshape(y, tf.concat([tf.shape(y)[: -len(self._out)], self._in], 0))

    def _forward_event_shape(self, input_shape: Any) -> tf.TensorShape:
        return _filled(self._out, input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> tf.TensorShape:
        return _filled(self._in, output_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> tf.Tensor:
        return tf.shape(tf.reshape(tf.zeros(input_shape), self._out))

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return tf.constant(0.0, y.dtype.base_dtype)


class SoftmaxCentered(Bijector):
    """The softmax of ``k`` numbers and a zero: ``k + 1`` numbers of sum one."""

    def __init__(self, validate_args: bool = False, name: str = "softmax_centered") -> None:
        super().__init__(forward_min_event_ndims=1, validate_args=validate_args, name=name)

    def _forward_event_shape(self, input_shape: Any) -> tf.TensorShape:
        shape = tf.TensorShape(input_shape).as_list()
        return tf.TensorShape([*shape[:-1], None if shape[-1] is None else shape[-1] + 1])

    def _inverse_event_shape(self, output_shape: Any) -> tf.TensorShape:
        shape = tf.TensorShape(output_shape).as_list()
        return tf.TensorShape([*shape[:-1], None if shape[-1] is None else shape[-1] - 1])

    def _forward_event_shape_tensor(self, input_shape: Any) -> tf.Tensor:
        return tf.concat([input_shape[:-1], input_shape[-1:] + 1], 0)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(tf.concat([x, tf.zeros_like(x[..., :1])], -1))

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        logs = tf.log(y)
        return logs[..., :-1] - logs[..., -1:]

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -tf.reduce_sum(tf.log(y), -1)


def _optional(value: Any) -> tf.Tensor | None:
    return None if value is None else tf.convert_to_tensor(value)


def _filled(shape: list[int], other: Any) -> tf.TensorShape:
    """Return a shape with its -1 worked out from another of the same number of elements."""
    if -1 not in shape:
        return tf.TensorShape(shape)
    elements = tf.TensorShape(other).num_elements()
    if elements is None:
        return tf.TensorShape([None if size == -1 else size for size in shape])
    known = math.prod(size for size in shape if size != -1)
    return tf.TensorShape([elements // known if size == -1 else size for size in shape])


# Bijectors with networks inside.


class RealNVP(Bijector):
    """Leaves the first numbers and moves the others by what a network makes of the first."""

    def __init__(
        self,
        num_masked: int,
        shift_and_log_scale_fn: Callable[..., tuple[Any, Any]],
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        if num_masked <= 0:
            raise ValueError("num_masked must be a positive integer.")
        self._num_masked = num_masked
        self._shift_and_log_scale_fn = shift_and_log_scale_fn
        self._depth: int | None = None
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "real_nvp",
        )

    def _moves(self, x: tf.Tensor) -> tuple[tf.Tensor, Any, Any]:
        if self._depth is None:
            self._depth = x.shape.with_rank_at_least(1).as_list()[-1]
            if self._depth is None or self._num_masked >= self._depth:
                raise NotImplementedError("num_masked must be smaller than the event size.")
        kept = x[..., : self._num_masked]
        return (kept, *self._shift_and_log_scale_fn(kept, self._depth - self._num_masked))

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        kept, shift, log_scale = self._moves(x)
        moved = x[..., self._num_masked :]
        moved = moved if log_scale is None else moved * tf.exp(log_scale)
        return tf.concat([kept, moved if shift is None else moved + shift], -1)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        kept, shift, log_scale = self._moves(y)
        moved = y[..., self._num_masked :]
        moved = moved if shift is None else moved - shift
        return tf.concat([kept, moved if log_scale is None else moved * tf.exp(-log_scale)], -1)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        log_scale = self._moves(x)[2]
        if log_scale is None:
            return tf.constant(0.0, x.dtype.base_dtype)
        return tf.reduce_sum(log_scale, -1)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return -self._forward_log_det_jacobian(y)


def real_nvp_default_template(
    hidden_layers: Sequence[int],
    shift_only: bool = False,
    activation: Any = tf.nn.relu,
    name: str | None = None,
    *args: Any,
    **kwargs: Any,
) -> Callable[..., tuple[Any, Any]]:
    """Return a network of dense layers for ``RealNVP``; its variables are made once."""

    def network(x: tf.Tensor, output_units: int) -> tuple[Any, Any]:
        for units in hidden_layers:
            x = tf.layers.dense(x, units, activation, *args, **kwargs)
        size = (1 if shift_only else 2) * output_units
        x = tf.layers.dense(x, size, None, *args, **kwargs)
        return (x, None) if shift_only else tuple(tf.split(x, 2, -1))

    return tf.make_template(name or "real_nvp_default_template", network)


# Bijectors of bijectors and of functions.


class Chain(Bijector):
    """The last bijector first, as functions are written."""

    def __init__(
        self,
        bijectors: Sequence[Bijector] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        self._bijectors = list(bijectors or [])
        ndims = max([b.forward_min_event_ndims for b in self._bijectors], default=0)
        inverse = max([b.inverse_min_event_ndims for b in self._bijectors], default=0)
        super().__init__(
            forward_min_event_ndims=ndims,
            inverse_min_event_ndims=inverse,
            is_constant_jacobian=all(b.is_constant_jacobian for b in self._bijectors),
            validate_args=validate_args,
            name=name or "_of_".join([b.name for b in self._bijectors] or ["identity"]),
        )

    @property
    def bijectors(self) -> list[Bijector]:
        return self._bijectors

    def _forward_event_shape(self, input_shape: Any) -> Any:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape(input_shape)
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        for bijector in reversed(self._bijectors):
            input_shape = bijector.forward_event_shape_tensor(input_shape)
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        for bijector in self._bijectors:
            output_shape = bijector.inverse_event_shape(output_shape)
        return output_shape

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x)
        return x

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        for bijector in self._bijectors:
            y = bijector.inverse(y)
        return y

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        total = tf.constant(0.0, y.dtype.base_dtype)
        ndims = self.inverse_min_event_ndims
        for bijector in self._bijectors:
            total += bijector.inverse_log_det_jacobian(y, event_ndims=ndims)
            ndims += bijector.forward_min_event_ndims - bijector.inverse_min_event_ndims
            y = bijector.inverse(y)
        return total


class Invert(Bijector):
    """A bijector read backwards."""

    def __init__(
        self, bijector: Bijector, validate_args: bool = False, name: str | None = None
    ) -> None:
        self._bijector = bijector
        super().__init__(
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self) -> Bijector:
        return self._bijector

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._bijector._inverse_event_shape(input_shape)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return self._bijector._inverse(x)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return self._bijector._forward(y)

    def _inverse_log_det_jacobian(self, y: tf.Tensor) -> tf.Tensor:
        return self._bijector.forward_log_det_jacobian(y, self.inverse_min_event_ndims)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return self._bijector.inverse_log_det_jacobian(x, self.forward_min_event_ndims)


class Inline(Bijector):
    """A bijector from functions."""

    def __init__(
        self,
        forward_fn: Callable[..., tf.Tensor] | None = None,
        inverse_fn: Callable[..., tf.Tensor] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., tf.Tensor] | None = None,
        forward_log_det_jacobian_fn: Callable[..., tf.Tensor] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name,
        )
        given = {
            "_forward": forward_fn,
            "_inverse": inverse_fn,
            "_inverse_log_det_jacobian": inverse_log_det_jacobian_fn,
            "_forward_log_det_jacobian": forward_log_det_jacobian_fn,
            "_forward_event_shape": forward_event_shape_fn,
            "_forward_event_shape_tensor": forward_event_shape_tensor_fn,
            "_inverse_event_shape": inverse_event_shape_fn,
            "_inverse_event_shape_tensor": inverse_event_shape_tensor_fn,
        }
        for attribute, function in given.items():
            if function is not None:
                setattr(self, attribute, function)


_FLOW = "removed.flow"
GONE = {
    "BatchNormalization": _FLOW,
    "MaskedAutoregressiveFlow": _FLOW,
    "masked_autoregressive_default_template": _FLOW,
    "masked_dense": _FLOW,
}
