"""Loops: random numbers are drawn in the order of the steps, as TensorFlow 1.15 drew them.

The kernels of random operations have a state, and the steps of a ``tf.while_loop`` overlap.
TensorFlow 2.21 starts operations that wait for nothing in another order than 1.15 did. A loop that
draws numbers from a seed therefore begins each step after the last one.
"""

from typing import Any

from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops

_build_loop = control_flow_ops.WhileContext.BuildLoop


def _build_loop_in_order(self: Any, *args: Any, **kwargs: Any) -> Any:
    graph = ops.get_default_graph()
    before = graph.num_operations()
    result = _build_loop(self, *args, **kwargs)
    created = graph.get_operations()[before:]
    if any(_draws(operation) for operation in created):
        one = attr_value_pb2.AttrValue(i=1)
        for operation in created:
            if operation.type in ("Enter", "RefEnter"):
                operation._set_attr("parallel_iterations", one)
        self._parallel_iterations = 1
    return result


def _draws(operation: Any) -> bool:
    attributes = operation.op_def.attr
    return any(
        attribute.name in ("seed", "seed2") and operation.get_attr(attribute.name)
        for attribute in attributes
    )


def change_methods() -> None:
    control_flow_ops.WhileContext.BuildLoop = _build_loop_in_order
