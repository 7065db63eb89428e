"""Optimizers outside the graph: the whole of a loss is minimized by scipy, in one call."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


class ExternalOptimizerInterface:
    """Packs the variables into one vector; a subclass minimizes over it."""

    def __init__(
        self,
        loss: tf.Tensor,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[tf.Tensor] | None = None,
        inequalities: Sequence[tf.Tensor] | None = None,
        var_to_bounds: Mapping[Any, tuple[Any, Any]] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._loss = loss
        self._equalities = list(equalities or [])
        self._inequalities = list(inequalities or [])
        self._vars = list(tf.trainable_variables() if var_list is None else var_list)
        self._packed_bounds = self._pack_bounds(var_to_bounds)
        self._placeholders = [tf.placeholder(var.dtype.base_dtype) for var in self._vars]
        self._assigns = [
            var.assign(tf.reshape(value, var.shape))
            for var, value in zip(self._vars, self._placeholders, strict=True)
        ]
        self._loss_grad = self._packed_gradient(loss)
        self._equality_grads = [self._packed_gradient(each) for each in self._equalities]
        self._inequality_grads = [self._packed_gradient(each) for each in self._inequalities]
        self._sizes = [int(np.prod(var.shape.as_list())) for var in self._vars]
        self.optimizer_kwargs = optimizer_kwargs

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[..., None] | None = None,
        loss_callback: Callable[..., None] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimize and write the result into the variables."""
        session = session or tf.get_default_session()
        fetches = list(fetches or [])

        def run(tensors: list[Any], x: Any) -> list[Any]:
            self._write(session, x)
            return session.run(tensors, feed_dict=feed_dict, **run_kwargs)

        def loss_and_gradient(x: Any) -> tuple[Any, Any]:
            loss, gradient, *values = run([self._loss, self._loss_grad, *fetches], x)
            if loss_callback is not None:
                loss_callback(*values)
            return loss, gradient.astype("float64")

        def constraints(values: list[Any], gradients: list[Any]) -> list[tuple[Any, Any]]:
            return [
                (
                    lambda x, v=value: run([v], x)[0],
                    lambda x, g=gradient: run([g], x)[0].astype("float64"),
                )
                for value, gradient in zip(values, gradients, strict=True)
            ]

        initial = session.run(self._vars)
        packed = np.concatenate([np.ravel(value) for value in initial]).astype("float64")
        result = self._minimize(
            initial_val=packed,
            loss_grad_func=loss_and_gradient,
            equalities=constraints(self._equalities, self._equality_grads),
            inequalities=constraints(self._inequalities, self._inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback,
            optimizer_kwargs=self.optimizer_kwargs,
        )
        self._write(session, result)

    def _minimize(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement _minimize."
        )

    def _write(self, session: Any, packed: Any) -> None:
        parts = np.split(np.asarray(packed), np.cumsum(self._sizes)[:-1])
        session.run(self._assigns, dict(zip(self._placeholders, parts, strict=True)))

    def _packed_gradient(self, value: tf.Tensor) -> tf.Tensor:
        gradients = tf.gradients(value, self._vars)
        flat = [
            tf.reshape(tf.zeros_like(var) if grad is None else grad, [-1])
            for grad, var in zip(gradients, self._vars, strict=True)
        ]
        return tf.concat(flat, 0)

    def _pack_bounds(self, bounds: Mapping[Any, tuple[Any, Any]] | None) -> list[Any] | None:
        if bounds is None:
            return None
        by_name = {var.name: limits for var, limits in bounds.items()}
        packed: list[Any] = []
        for var in self._vars:
            low, high = by_name.get(var.name, (-np.inf, np.inf))
            shape = var.shape.as_list()
            lows, highs = (np.broadcast_to(limit, shape).ravel() for limit in (low, high))
            packed += list(zip(lows.tolist(), highs.tolist(), strict=True))
        return packed


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes with scipy: L-BFGS-B, or SLSQP where there are constraints."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val: Any,
        loss_grad_func: Callable[[Any], tuple[Any, Any]],
        equalities: list[tuple[Any, Any]],
        inequalities: list[tuple[Any, Any]],
        packed_bounds: list[Any] | None,
        step_callback: Callable[..., None] | None,
        optimizer_kwargs: dict[str, Any],
    ) -> Any:
        import scipy.optimize

        options = dict(optimizer_kwargs)
        constraints = [
            {"type": kind, "fun": value, "jac": gradient}
            for kind, each in (("eq", equalities), ("ineq", inequalities))
            for value, gradient in each
        ]
        default = "SLSQP" if constraints else self._DEFAULT_METHOD
        result = scipy.optimize.minimize(
            loss_grad_func,
            initial_val,
            jac=True,
            method=options.pop("method", default),
            constraints=constraints,
            bounds=packed_bounds,
            callback=step_callback,
            **options,
        )
        tf.logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f",
            result.message,
            result.fun,
        )
        return result["x"]
