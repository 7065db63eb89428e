"""Optimizers around optimizers: averages, clipped variables, several tasks."""

import types
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf


class MovingAverageOptimizer(tf.train.Optimizer):
    """Keeps averages of the variables; ``swapping_saver`` writes them in their place."""

    def __init__(
        self,
        opt: Any,
        average_decay: float = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(use_locking=False, name="MovingAverageOptimizer")
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        grads_and_vars = list(grads_and_vars)
        train = self._optimizer.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        changed = [var for grad, var in grads_and_vars if grad is not None]
        with tf.control_dependencies([train] if self._sequential_update else []):
            average = self._ema.apply(changed)
        self._swapped = {}
        for var in changed:
            mean = self._ema.average(var).op.name
            self._swapped[var.op.name] = mean
            self._swapped[mean] = var.op.name
        return tf.group(train, average, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> tf.train.Saver:
        """Return a saver whose checkpoints have the averages in place of the variables."""
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        if var_list is None:
            var_list = tf.global_variables()
        if not isinstance(var_list, Mapping):
            var_list = {var.op.name: var for var in var_list}
        by_name = {var.op.name: var for var in var_list.values()}
        swapped = {}
        for key, var in var_list.items():
            other = self._swapped.get(var.op.name)
            if other is not None and other not in by_name:
                raise ValueError(f"Variable to swap {other} is not part of variables to save.")
            swapped[key] = by_name[other] if other is not None else var
        return tf.train.Saver(swapped, name=name, **kwargs)


class VariableClippingOptimizer(tf.train.Optimizer):
    """Clips the norms of chosen variables after every step."""

    def __init__(
        self,
        opt: Any,
        vars_to_clip_dims: Mapping[Any, Sequence[int]],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        # By name: a variable of TensorFlow 2 cannot be a key.
        self._dims = {var.name: list(dims) for var, dims in vars_to_clip_dims.items()}
        self._max_norm = max_norm

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        grads_and_vars = list(grads_and_vars)
        with tf.name_scope(name, self._name) as scope:
            update = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            clips = []
            with tf.control_dependencies([update]):
                for grad, var in grads_and_vars:
                    if grad is not None and var.name in self._dims:
                        clips.append(self._clip(grad, var))
            return tf.group(*clips, update, name=scope)

    def _clip(self, grad: Any, var: Any) -> tf.Tensor:
        dims, locking = self._dims[var.name], self._use_locking
        if isinstance(grad, tf.IndexedSlices):
            indices = tf.unique(grad.indices)[0]
            rows = tf.clip_by_norm(tf.gather(var, indices), self._max_norm, axes=dims)
            return tf.scatter_update(var, indices, rows, use_locking=locking)
        return var.assign(tf.clip_by_norm(var, self._max_norm, axes=dims), use_locking=locking)


class MultitaskOptimizerWrapper:
    """Lets a step pass where a gradient is all zero, so that other tasks keep their moments."""

    def __init__(self, opt: Any) -> None:
        if not isinstance(opt, tf.train.Optimizer):
            raise TypeError(
                f"Supplied optimizer must be an instance of tf.train.Optimizer, got {opt!r}"
            )
        self._opt = opt
        for name in ("_apply_dense", "_resource_apply_dense"):
            setattr(opt, name, types.MethodType(_unless_zero(getattr(opt, name)), opt))
        sparse, resource = opt._apply_sparse_duplicate_indices, opt._resource_apply_sparse
        opt._apply_sparse_duplicate_indices = lambda grad, var: _run_unless_zero(
            grad.values, lambda: sparse(grad, var)
        )
        opt._resource_apply_sparse = lambda grad, var, indices: _run_unless_zero(
            grad, lambda: resource(grad, var, indices)
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_opt"], name)


def _unless_zero(apply: Any) -> Any:
    def method(_: Any, grad: tf.Tensor, var: Any) -> tf.Operation:
        return _run_unless_zero(grad, lambda: apply(grad, var))

    return method


def _run_unless_zero(grad: tf.Tensor, apply: Any) -> tf.Operation:
    def applied() -> tf.Tensor:
        with tf.control_dependencies([apply()]):
            return tf.constant(True)

    nothing = tf.reduce_all(tf.equal(grad, 0.0))
    return tf.group(tf.cond(nothing, lambda: tf.constant(False), applied))


def clip_gradients_by_global_norm(
    gradients_variables: Sequence[tuple[Any, Any]], clip_norm: float = 20.0
) -> list[tuple[Any, Any]]:
    """Clip gradients by their norm together, and take a norm of zero as one."""
    gradients, variables = zip(*gradients_variables, strict=True)
    norm = tf.global_norm(gradients)
    norm = tf.where(tf.equal(norm, 0.0), tf.ones_like(norm), norm)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return list(zip(clipped, variables, strict=True))
