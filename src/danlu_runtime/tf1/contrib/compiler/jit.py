"""tf.contrib.compiler.jit."""

import tensorflow.compat.v1 as tf

experimental_jit_scope = tf.xla.experimental.jit_scope

__all__ = ["experimental_jit_scope"]
