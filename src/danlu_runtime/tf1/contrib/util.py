"""tf.contrib.util: constants in and out of protocol buffers, and the operations of a graph."""

import tensorflow.compat.v1 as tf
from tensorflow.python.framework.meta_graph import (
    ops_used_by_graph_def,
    stripped_op_list_for_graph,
)

constant_value = tf.get_static_value
make_ndarray = tf.make_ndarray
make_tensor_proto = tf.make_tensor_proto

__all__ = [
    "constant_value",
    "make_ndarray",
    "make_tensor_proto",
    "ops_used_by_graph_def",
    "stripped_op_list_for_graph",
]
