"""`tf.contrib.tpu.CrossShardOptimizer`: with no TPU there is one shard and nothing to add up."""

from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.estimator.extenders import DelegatingOptimizer

__all__ = ["CrossShardOptimizer"]


class CrossShardOptimizer(DelegatingOptimizer):
    """Applies the gradients of the optimizer it is given."""

    def __init__(
        self,
        opt: Any,
        reduction: str = tf.losses.Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (tf.losses.Reduction.SUM, tf.losses.Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}; use MEAN or SUM.")
        super().__init__(opt, name)
