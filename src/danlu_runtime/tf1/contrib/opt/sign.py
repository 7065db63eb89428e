"""AddSign and PowerSign (Bello and others, 2017): larger steps where gradient and mean agree."""

import math
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

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
