"""tf.contrib.tensorboard.plugins."""

from danlu_runtime.tf1.contrib.tensorboard.plugins import projector

__all__ = ["projector"]
