"""tf.contrib.compiler: the scope that asks XLA to compile, and its own way of doing so."""

from danlu_runtime.tf1.contrib.compiler import jit, xla

__all__ = ["jit", "xla"]
