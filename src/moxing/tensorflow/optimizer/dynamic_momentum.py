"""Momentum that falls while the learning rate rises, and rises while it falls."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.lars import lars_gradient

_RATIO = 0.001  # of LARS, from its paper, for large batches


class DyMomentumOptimizer(tf.train.MomentumOptimizer):
    """Momentum between ``max_mom``, at ``min_lr``, and ``min_mom``, at ``max_lr``, in a line.

    In the last ``cooldown`` of ``max_iteration`` steps it is ``max_mom``. With ``use_lars``
    gradients are scaled as the wrapper ``lars`` does, with ``weight_decay`` in them; without it
    ``weight_decay`` is the loss's affair.
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
        name: str = "DyMomentum",
    ) -> None:
        if not max_lr > min_lr:
            raise ValueError(
                f"max_lr of {name} must be above min_lr, got {max_lr!r} and {min_lr!r}."
            )
        with tf.name_scope(name):
            share = (tf.cast(learning_rate, tf.float32) - min_lr) / (max_lr - min_lr)
            momentum = max_mom - tf.clip_by_value(share, 0.0, 1.0) * (max_mom - min_mom)
            if cooldown and max_iteration:
                given = tf.train.get_or_create_global_step() if global_step is None else global_step
                is_cool = tf.cast(given, tf.float32) >= (1.0 - cooldown) * max_iteration
                momentum = tf.where(is_cool, tf.constant(max_mom, tf.float32), momentum)
        super().__init__(learning_rate, momentum, use_locking, name=name, use_nesterov=use_nesterov)
        self._use_lars = use_lars
        self._weight_decay = weight_decay

    def get_momentum(self) -> tf.Tensor:
        """Return the momentum of this step, to be shown."""
        return self._momentum

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        pairs = list(grads_and_vars)
        if self._use_lars:
            pairs = [
                (None if g is None else lars_gradient(g, v, _RATIO, self._weight_decay), v)
                for g, v in pairs
            ]
        return super().apply_gradients(pairs, global_step=global_step, name=name)
