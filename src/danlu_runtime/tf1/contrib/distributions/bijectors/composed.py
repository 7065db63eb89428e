"""Bijectors of bijectors and of functions."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.distributions.bijectors.base import Bijector


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
