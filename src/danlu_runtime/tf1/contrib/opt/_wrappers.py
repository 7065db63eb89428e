"""Optimizers around optimizers: averages, clipped variables, several tasks, weight decay."""

import types
from collections.abc import Callable, Mapping, Sequence
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


# Weight decay apart from the gradient (Loshchilov and Hutter, 2017), for any optimizer.
#
# As in TensorFlow 1.15 a step subtracts ``weight_decay * variable``, not multiplied by the learning
# rate: a schedule of the rate needs the same schedule of the decay.


_Base: Any = object  # for mypy the optimizer, which comes after the mix-in


class DecoupledWeightDecayExtension(_Base):
    """A mix-in: put it before an optimizer in the bases of a class."""

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decay_var_list: set[Any] | None = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: tf.Tensor | None = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: tf.Tensor,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> tf.Operation:
        """Minimize; only the variables of ``decay_var_list`` decay, or all without one."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else None
        return super().minimize(
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> tf.Operation:
        """Apply gradients; ``decay_var_list`` as in ``minimize``, which it may override."""
        if decay_var_list:
            self._decay_var_list = set(decay_var_list)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self) -> None:
        decay = self._weight_decay
        self._weight_decay_tensor = tf.convert_to_tensor(
            decay() if callable(decay) else decay, name="weight_decay"
        )
        super()._prepare()

    def _decays(self, var: Any) -> bool:
        return self._decay_var_list is None or var in self._decay_var_list

    def _decay(self, var: Any) -> list[Any]:
        if not self._decays(var):
            return []
        rate = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        return [var.assign_sub(rate * var, use_locking=self._use_locking)]

    def _decay_rows(self, var: Any, indices: tf.Tensor) -> list[Any]:
        """Rows that the batch did not touch do not decay."""
        if not self._decays(var):
            return []
        rate = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        rows = tf.gather(var, indices)
        return [tf.scatter_sub(var, indices, rate * rows, use_locking=self._use_locking)]

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        with tf.control_dependencies(self._decay(var)):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> Any:
        with tf.control_dependencies(self._decay(var)):
            return super()._resource_apply_dense(grad, var)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> Any:
        with tf.control_dependencies(self._decay_rows(var, grad.indices)):
            return super()._apply_sparse(grad, var)

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> Any:
        with tf.control_dependencies(self._decay_rows(var, indices)):
            return super()._resource_apply_sparse(grad, var, indices)


def extend_with_decoupled_weight_decay(base_optimizer: Any) -> Callable[..., Any]:
    """Return the class of an optimizer with weight decay: its first argument is the decay."""

    class OptimizerWithDecoupledWeightDecay(DecoupledWeightDecayExtension, base_optimizer):
        """The given optimizer with weight decay."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            self._decay_var_list = None
            self._weight_decay = weight_decay
            self._weight_decay_tensor = None
            base_optimizer.__init__(self, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


class AdamWOptimizer(DecoupledWeightDecayExtension, tf.train.AdamOptimizer):
    """Adam with weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )


class MomentumWOptimizer(DecoupledWeightDecayExtension, tf.train.MomentumOptimizer):
    """Momentum with weight decay."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )
