"""Bijectors with networks inside."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.distributions.bijectors.base import Bijector


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
