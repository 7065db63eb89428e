"""tf.contrib.mixed_precision: a loss scaled up, so that small float16 gradients do not vanish."""

import abc
from typing import Any

import tensorflow.compat.v1 as tf


class LossScaleManager(metaclass=abc.ABCMeta):
    """Knows the scale of the loss and changes it after each step."""

    @abc.abstractmethod
    def get_loss_scale(self) -> tf.Tensor:
        """Return the scale, a scalar float32."""

    @abc.abstractmethod
    def update_loss_scale(self, finite_grads: tf.Tensor) -> Any:
        """Return the operation after a step; ``finite_grads`` says whether it was applied."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays as it is."""

    def __init__(self, loss_scale: float) -> None:
        if loss_scale < 1:
            raise ValueError("loss scale must be at least 1.")
        self._loss_scale = tf.convert_to_tensor(loss_scale, dtype=tf.float32)

    def get_loss_scale(self) -> tf.Tensor:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: tf.Tensor) -> tf.Operation:
        return tf.no_op()


class ExponentialUpdateLossScaleManager(LossScaleManager):
    """A scale that grows after many good steps and shrinks after a few bad ones."""

    def __init__(
        self,
        init_loss_scale: float,
        incr_every_n_steps: int,
        decr_every_n_nan_or_inf: int = 2,
        incr_ratio: float = 2,
        decr_ratio: float = 0.8,
    ) -> None:
        self._incr_every_n_steps = incr_every_n_steps
        self._decr_every_n_nan_or_inf = decr_every_n_nan_or_inf
        self._incr_ratio = incr_ratio
        self._decr_ratio = decr_ratio
        scale = tf.cast(init_loss_scale, tf.float32)
        self._loss_scale = tf.Variable(scale, trainable=False, name="loss_scale")
        self._num_good_steps = tf.Variable(0, trainable=False, name="good_steps")
        self._num_bad_steps = tf.Variable(0, trainable=False, name="bad_steps")

    def get_loss_scale(self) -> Any:
        return self._loss_scale

    def update_loss_scale(self, finite_grads: tf.Tensor) -> tf.Operation:
        scale, good, bad = self._loss_scale, self._num_good_steps, self._num_bad_steps
        good_now = tf.where(finite_grads, good + 1, 0)
        bad_now = tf.where(finite_grads, bad, bad + 1)
        grow = tf.logical_and(finite_grads, good_now >= self._incr_every_n_steps)
        shrink = tf.logical_and(
            tf.logical_not(finite_grads), bad_now >= self._decr_every_n_nan_or_inf
        )
        larger = scale * self._incr_ratio
        larger = tf.where(tf.is_finite(larger), larger, scale)
        smaller = tf.maximum(1.0, scale * self._decr_ratio)
        changed = tf.where(grow, larger, tf.where(shrink, smaller, scale))
        # With every change of the scale both counts begin again.
        reset = tf.logical_or(grow, shrink)
        counts = tf.where(reset, 0, good_now), tf.where(reset, 0, bad_now)
        with tf.control_dependencies([changed, *counts]):
            return tf.group(scale.assign(changed), good.assign(counts[0]), bad.assign(counts[1]))


class LossScaleOptimizer(tf.train.Optimizer):
    """Scales the loss up and its gradients down again; a step that is not finite is left out."""

    def __init__(self, opt: Any, loss_scale_manager: LossScaleManager) -> None:
        if not isinstance(opt, tf.train.Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        self._opt = opt
        self._loss_scale_manager = loss_scale_manager
        super().__init__(use_locking=False, name="LossScaleOptimizer")

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = tf.train.Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        scale = tf.convert_to_tensor(self._loss_scale_manager.get_loss_scale())
        if callable(loss):
            original = loss

            def scaled() -> tf.Tensor:
                value = original()
                return value * tf.cast(scale, value.dtype.base_dtype)

            loss = scaled
        else:
            loss = loss * tf.cast(scale, loss.dtype.base_dtype)
        grads_and_vars = self._opt.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        return [(_divided(grad, scale), var) for grad, var in grads_and_vars]

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        grads_and_vars = list(grads_and_vars)
        finite = [
            tf.reduce_all(tf.is_finite(_values(grad)))
            for grad, _ in grads_and_vars
            if grad is not None
        ]
        all_finite = tf.reduce_all(tf.stack(finite))

        def step() -> tf.Tensor:
            applied = self._opt.apply_gradients(grads_and_vars, global_step, name)
            with tf.control_dependencies([applied]):
                return tf.constant(True)

        applied = tf.cond(all_finite, step, lambda: tf.constant(False))
        with tf.control_dependencies([applied]):
            return tf.group(applied, self._loss_scale_manager.update_loss_scale(all_finite))


def _values(grad: Any) -> tf.Tensor:
    return grad.values if isinstance(grad, tf.IndexedSlices) else grad


def _divided(grad: Any, scale: tf.Tensor) -> Any:
    if grad is None:
        return None
    inverse = tf.cast(tf.reciprocal(scale), _values(grad).dtype.base_dtype)
    if isinstance(grad, tf.IndexedSlices):
        return tf.IndexedSlices(grad.values * inverse, grad.indices, grad.dense_shape)
    return grad * inverse
