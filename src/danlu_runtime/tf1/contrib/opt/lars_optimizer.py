"""LARS (You and others, 2017): a rate for each variable, from the norms of it and its gradient."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import gen_training_ops


class LARSOptimizer(tf.train.Optimizer):
    """Momentum whose rate grows with ``|w| / |g|``; names in ``skip_list`` keep the plain rate."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if isinstance(momentum, (int, float)) and momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if isinstance(weight_decay, (int, float)) and weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Any) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._learning_rate_tensor = tf.convert_to_tensor(rate, name="learning_rate")
        momentum = self._call_if_callable(self._momentum)
        self._momentum_tensor = tf.convert_to_tensor(momentum, name="momentum")

    def compute_lr(self, grad: tf.Tensor, var: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the rate of a variable and its gradient with weight decay."""
        rate = self._learning_rate
        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return rate, grad
        w_norm, g_norm = tf.norm(var, ord=2), tf.norm(grad, ord=2)
        one = tf.ones_like(w_norm)
        ratio = self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)
        trust = tf.where(w_norm > 0, tf.where(g_norm > 0, ratio, one), one)
        return rate * trust, grad + self._weight_decay * var

    def _apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        rate, grad = self.compute_lr(grad, var)
        dtype = var.dtype.base_dtype
        return gen_training_ops.apply_momentum(
            var,
            self.get_slot(var, "momentum"),
            tf.cast(rate, dtype),
            grad,
            tf.cast(self._momentum, dtype),
            use_locking=False,
            use_nesterov=self._use_nesterov,
        ).op

    def _resource_apply_dense(self, grad: tf.Tensor, var: Any) -> tf.Operation:
        rate, grad = self.compute_lr(grad, var)
        dtype = var.dtype.base_dtype
        return gen_training_ops.resource_apply_momentum(
            var.handle,
            self.get_slot(var, "momentum").handle,
            tf.cast(rate, dtype),
            grad,
            tf.cast(self._momentum, dtype),
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )

    # As in 1.15 rows are stepped with plain momentum: norms of rows say nothing of the whole.
    def _apply_sparse(self, grad: tf.IndexedSlices, var: Any) -> tf.Operation:
        dtype = var.dtype.base_dtype
        return gen_training_ops.sparse_apply_momentum(
            var,
            self.get_slot(var, "momentum"),
            tf.cast(self._learning_rate_tensor, dtype),
            grad.values,
            grad.indices,
            tf.cast(self._momentum_tensor, dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        ).op

    def _resource_apply_sparse(self, grad: tf.Tensor, var: Any, indices: Any) -> tf.Operation:
        return gen_training_ops.resource_sparse_apply_momentum(
            var.handle,
            self.get_slot(var, "momentum").handle,
            tf.cast(self._learning_rate_tensor, grad.dtype),
            grad,
            indices,
            tf.cast(self._momentum_tensor, grad.dtype),
            use_locking=self._use_locking,
            use_nesterov=self._use_nesterov,
        )
