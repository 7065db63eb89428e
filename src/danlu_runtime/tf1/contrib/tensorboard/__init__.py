"""tf.contrib.tensorboard: what a script tells TensorBoard beside summaries."""

from danlu_runtime.tf1.contrib.tensorboard import plugins

__all__ = ["plugins"]
