"""Weight decay apart from the gradient (Loshchilov and Hutter, 2017), for any optimizer.

As in TensorFlow 1.15 a step subtracts ``weight_decay * variable``, not multiplied by the learning
rate: a schedule of the rate needs the same schedule of the decay.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf


class DecoupledWeightDecayExtension:
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


def extend_with_decoupled_weight_decay(base_optimizer: type) -> Callable[..., Any]:
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
