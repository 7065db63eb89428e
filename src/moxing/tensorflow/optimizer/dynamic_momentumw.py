"""Dynamic momentum with weight decay apart from the gradient."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.dynamic_momentum import DyMomentumOptimizer


class DyMomentumWOptimizer(DyMomentumOptimizer):
    """Subtracts ``learning_rate * weight_decay * w`` from every variable before its step.

    Scripts leave the regularization out of their loss. Rows that a sparse gradient does not have
    do not decay.
    """

    def __init__(self, *args: Any, name: str = "DyMomentumW", **kwargs: Any) -> None:
        super().__init__(*args, name=name, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        pairs = [(gradient, each) for gradient, each in grads_and_vars if gradient is not None]
        if not self._weight_decay or self._use_lars:  # LARS has it in its gradients
            return super().apply_gradients(pairs, global_step=global_step, name=name)
        # Gradients first: those that are computed from the variables are of before the decay.
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
