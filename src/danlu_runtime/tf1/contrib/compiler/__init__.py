"""tf.contrib.compiler: the scope that asks XLA to compile."""

from danlu_runtime.tf1.contrib.compiler import jit

__all__ = ["jit"]
