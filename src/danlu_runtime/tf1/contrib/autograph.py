"""tf.contrib.autograph: today's tf.autograph."""

import tensorflow.compat.v1 as tf
from tensorflow.python.autograph.impl.api import convert, do_not_convert

set_verbosity = tf.autograph.set_verbosity
to_code = tf.autograph.to_code
to_graph = tf.autograph.to_graph
trace = tf.autograph.trace

__all__ = ["convert", "do_not_convert", "set_verbosity", "to_code", "to_graph", "trace"]
