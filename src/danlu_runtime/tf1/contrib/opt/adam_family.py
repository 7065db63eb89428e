"""Variants of Adam; their slots are ``m`` and ``v`` as in ``tf.train.AdamOptimizer``."""

from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gen_training_ops


class LazyAdamOptimizer(tf.train.AdamOptimizer):
    """Adam that leaves the moments of rows alone which a batch did not touch."""

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: Any) -> tf.Operation:
        return self._update_rows(grad, var, indices)

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> tf.Operation:
        beta1, beta2, epsilon, rate = _numbers(self, var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_rows = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        v_rows = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        change = rate * m_rows / (tf.sqrt(v_rows) + epsilon)
        locking = self._use_locking
        # Only after the old rows have been read may the new ones be written.
        with tf.control_dependencies([change]):
            return tf.group(
                tf.scatter_update(m, indices, m_rows, use_locking=locking),
                tf.scatter_update(v, indices, v_rows, use_locking=locking),
                tf.scatter_sub(var, indices, change, use_locking=locking),
            )


class NadamOptimizer(tf.train.AdamOptimizer):
    """Adam with Nesterov's momentum (Dozat, 2015)."""

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        numbers = self._kernel_numbers(var.dtype.base_dtype)
        return gen_training_ops.apply_adam(
            var, m, v, *numbers, grad, use_locking=self._use_locking, use_nesterov=True
        ).op

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        numbers = self._kernel_numbers(grad.dtype.base_dtype)
        return gen_training_ops.resource_apply_adam(
            var.handle,
            m.handle,
            v.handle,
            *numbers,
            grad,
            use_locking=self._use_locking,
            use_nesterov=True,
        )

    def _kernel_numbers(self, dtype: Any) -> list[tf.Tensor]:
        powers = self._get_beta_accumulators()
        rest = (self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t)
        return [tf.cast(number, dtype) for number in (*powers, *rest)]

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        beta1, beta2, epsilon, rate = _numbers(self, var)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        scaled = grad * (1 - beta1)
        with tf.control_dependencies([tf.assign(m, m * beta1, use_locking=self._use_locking)]):
            m_t = scatter_add(m, indices, scaled)
        with tf.control_dependencies([tf.assign(v, v * beta2, use_locking=self._use_locking)]):
            v_t = scatter_add(v, indices, grad * grad * (1 - beta2))
        m_bar = scaled + beta1 * tf.gather(m_t, indices)
        step = -rate * m_bar / (tf.sqrt(tf.gather(v_t, indices)) + epsilon)
        return tf.group(scatter_add(var, indices, step), m_t, v_t)


class AdaMaxOptimizer(tf.train.AdamOptimizer):
    """Adam with the largest gradient in place of the second moment."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        graph = None if tf.executing_eagerly() else tf.get_default_graph()
        return self._get_non_slot_variable("beta1_power", graph=graph)

    def _create_slots(self, var_list: Any) -> None:
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(self._beta1, "beta1_power", colocate_with=first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _moments(self, grad: Any, m: Any, v: Any, dtype: Any) -> tuple[tf.Tensor, ...]:
        power, rate, beta1, beta2, epsilon = (
            tf.cast(number, dtype)
            for number in (
                self._get_beta_accumulators(),
                self._lr_t,
                self._beta1_t,
                self._beta2_t,
                self._epsilon_t,
            )
        )
        m_t = beta1 * m + (1 - beta1) * grad
        v_t = tf.maximum(beta2 * v, tf.abs(grad))
        return m_t, v_t, rate / (1 - power) * m_t / (v_t + epsilon)

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_t, v_t, change = self._moments(grad, m, v, var.dtype.base_dtype)
        locking = self._use_locking
        with tf.control_dependencies([change]):
            return tf.group(
                tf.assign(m, m_t, use_locking=locking),
                tf.assign(v, v_t, use_locking=locking),
                tf.assign_sub(var, change, use_locking=locking),
            )

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        return self._apply_dense(grad, var)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: Any) -> tf.Operation:
        return self._update_rows(grad, var, indices)

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: tf.Tensor) -> tf.Operation:
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        old = tf.gather(m, indices), tf.gather(v, indices)
        m_t, v_t, change = self._moments(grad, *old, var.dtype.base_dtype)
        locking = self._use_locking
        with tf.control_dependencies([change]):
            return tf.group(
                tf.scatter_update(m, indices, m_t, use_locking=locking),
                tf.scatter_update(v, indices, v_t, use_locking=locking),
                tf.scatter_sub(var, indices, change, use_locking=locking),
            )

    def _finish(self, update_ops: Any, name_scope: Any) -> tf.Operation:
        power = self._get_beta_accumulators()
        with tf.control_dependencies(update_ops), tf.colocate_with(power):
            grown = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, grown, name=name_scope)


def _numbers(optimizer: Any, var: Any) -> tuple[tf.Tensor, ...]:
    """Return beta1, beta2, epsilon and the corrected rate in the type of a variable."""
    power1, power2, rate, beta1, beta2, epsilon = (
        tf.cast(number, var.dtype.base_dtype)
        for number in (
            *optimizer._get_beta_accumulators(),
            optimizer._lr_t,
            optimizer._beta1_t,
            optimizer._beta2_t,
            optimizer._epsilon_t,
        )
    )
    return beta1, beta2, epsilon, rate * tf.sqrt(1 - power2) / (1 - power1)
