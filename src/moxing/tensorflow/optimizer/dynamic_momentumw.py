"""Dynamic momentum with weight decay that is separate from the gradient."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer


class DyMomentumWOptimizer(DyMomentumOptimizer):
    """Subtracts ``learning_rate * weight_decay * w`` from every variable before its step.

    Scripts leave the regularization out of their loss. Rows that a sparse gradient does not have
    do not decay.
    """

    def __init__(
        self,
        learning_rate: Any,
        max_lr: float,
        min_lr: float,
        max_mom: float = 0.98,
        min_mom: float = 0.85,
        global_step: Any = None,
        max_iteration: int = 0,
        use_nesterov: bool = False,
        cooldown: float = 0.0,
        use_lars: bool = False,
        weight_decay: float = 0.0,
        use_locking: bool = False,
        name: str = "DyMomentumW",
    ) -> None:
        super().__init__(
            *(learning_rate, max_lr, min_lr, max_mom, min_mom, global_step, max_iteration),
            use_nesterov=use_nesterov,
            cooldown=cooldown,
            use_lars=use_lars,
            weight_decay=weight_decay,
            use_locking=use_locking,
            name=name,
        )

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        pairs = [(gradient, each) for gradient, each in grads_and_vars if gradient is not None]
        if not self._weight_decay or self._use_lars:  # LARS includes it in the gradients
            return super().apply_gradients(pairs, global_step=global_step, name=name)
        # Gradients are computed first, from the variables before the decay.
        ready = [g.values if isinstance(g, tf.IndexedSlices) else g for g, _ in pairs]
        with tf.control_dependencies(ready):
            decayed = [self._decay(gradient, variable) for gradient, variable in pairs]
        with tf.control_dependencies(decayed):
            return super().apply_gradients(pairs, global_step=global_step, name=name)

    def _decay(self, gradient: Any, variable: Any) -> tf.Operation:
        rate = self._call_if_callable(self._learning_rate)
        with tf.colocate_with(variable):
            share = tf.cast(rate * self._weight_decay, variable.dtype.base_dtype)
            if not isinstance(gradient, tf.IndexedSlices):
                return variable.assign_sub(share * tf.convert_to_tensor(variable)).op
            rows, _ = tf.unique(gradient.indices)
            return tf.scatter_sub(variable, rows, share * tf.gather(variable, rows)).op
