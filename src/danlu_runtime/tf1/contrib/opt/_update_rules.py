"""Optimizers with update rules of their own: variants of Adam, AddSign and PowerSign.

The slots of the variants of Adam are ``m`` and ``v`` as in ``tf.train.AdamOptimizer``.
"""

import math
from collections.abc import Callable
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


# AddSign and PowerSign (Bello and others, 2017): larger steps where gradient and mean agree.


Decay = Callable[[Any], tf.Tensor]


class _SignOptimizer(tf.train.Optimizer):
    """Keeps the mean ``m`` of the gradients; a subclass gives the factor of a step."""

    def __init__(
        self,
        learning_rate: Any,
        beta: float,
        sign_decay_fn: Decay | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._beta = beta
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: tf.Tensor | float = 1.0

    def _factor(self, agreement: tf.Tensor) -> tf.Tensor:
        raise NotImplementedError

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = tf.convert_to_tensor(self._call_if_callable(self._lr), name="learning_rate")

    def _step(self, grad: tf.Tensor, m: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        m_t = self._beta * m + (1 - self._beta) * grad
        agreement = tf.cast(self._sign_decay, grad.dtype) * tf.sign(grad) * tf.sign(m_t)
        return m_t, tf.cast(self._lr_t, grad.dtype) * self._factor(agreement) * grad

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        m = self.get_slot(var, "m")
        m_t, change = self._step(grad, m)
        with tf.control_dependencies([change]):
            return tf.group(tf.assign(m, m_t), tf.assign_sub(var, change))

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        return self._apply_dense(grad, var)

    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        return self._update_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: Any) -> tf.Operation:
        return self._update_rows(grad, var, indices)

    def _update_rows(self, grad: tf.Tensor, var: Any, indices: Any) -> tf.Operation:
        m = self.get_slot(var, "m")
        m_t, change = self._step(grad, tf.gather(m, indices))
        with tf.control_dependencies([change]):
            return tf.group(
                tf.scatter_update(m, indices, m_t), tf.scatter_sub(var, indices, change)
            )


class AddSignOptimizer(_SignOptimizer):
    """Steps of ``alpha + decay * sign(g) * sign(m)`` times the gradient."""

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: float = 1.0,
        beta: float = 0.9,
        sign_decay_fn: Decay | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha

    def _factor(self, agreement: tf.Tensor) -> tf.Tensor:
        return self._alpha + agreement


class PowerSignOptimizer(_SignOptimizer):
    """Steps of ``base ** (decay * sign(g) * sign(m))`` times the gradient."""

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: float = 0.9,
        sign_decay_fn: Decay | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._log_base = math.log(base)

    def _factor(self, agreement: tf.Tensor) -> tf.Tensor:
        return tf.exp(self._log_base * agreement)


def get_linear_decay_fn(decay_steps: int) -> Decay:
    """Return a decay from 1 to 0 over ``decay_steps``."""
    _check(decay_steps)

    def linear_decay_fn(global_step: Any) -> tf.Tensor:
        return 1.0 - _done(global_step, decay_steps)

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Decay:
    """Return a decay along a cosine, of zero after ``zero_after`` periods."""
    _check(decay_steps)

    def cosine_decay_fn(global_step: Any) -> tf.Tensor:
        periods = 2.0 * num_periods * _done(global_step, decay_steps)
        decayed = 0.5 * (1.0 + tf.cos(math.pi * periods))
        if zero_after is None:
            return decayed
        return tf.where(periods >= 2 * zero_after, 0.0, decayed)

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> Decay:
    """Return a decay along half a cosine that starts again with each period."""
    _check(decay_steps)

    def restart_decay_fn(global_step: Any) -> tf.Tensor:
        periods = num_periods * _done(global_step, decay_steps)
        decayed = 0.5 * (1.0 + tf.cos(math.pi * tf.mod(periods, 1.0)))
        if zero_after is None:
            return decayed
        return tf.where(periods >= zero_after, 0.0, decayed)

    return restart_decay_fn


def _check(decay_steps: int) -> None:
    if decay_steps is None:
        raise ValueError("decay_steps cannot be None.")


def _done(global_step: Any, decay_steps: int) -> tf.Tensor:
    if global_step is None:
        raise ValueError("global_step cannot be None.")
    step = tf.cast(tf.minimum(tf.cast(global_step, tf.int64), decay_steps), tf.float32)
    return step / float(decay_steps)
