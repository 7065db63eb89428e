"""Bijectors over vectors: affine, permuted, reshaped, on the simplex, moved by a network."""

import math
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.distributions.bijectors.base import Bijector


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
