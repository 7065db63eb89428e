"""The nodes of a loop of TensorFlow's first kind, written one by one."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import tensorflow.compat.v1 as tf


@dataclass
class Nodes:
    """The nodes, and which tensors of the graph they take from outside.

    ``devices``: where each of those is to lie that is not to lie just anywhere.
    """

    name: str  # of no other loop in the graph
    nodes: tf.GraphDef = field(default_factory=tf.GraphDef)
    outer: dict[str, tf.Tensor] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    def variable(self, label: str, first: tf.Tensor) -> str:
        """Write what goes round in the loop, all but what it is set to in the end of a round.

        Return the name of its last value.
        """
        kind = first.dtype
        self.add(f"{label}/enter", "Enter", [self.outside(first)], kind, is_constant=False)
        self.add(f"{label}/merge", "Merge", [f"{label}/enter", f"{label}/next"], kind, N=2)
        self.add(f"{label}/switch", "Switch", [f"{label}/merge", "more"], kind)
        self.add(f"{label}/exit", "Exit", [f"{label}/switch"], kind)
        return f"{label}/exit:0"

    def enter(self, label: str, tensor: tf.Tensor) -> None:
        """Write what is the same in every round."""
        self.add(label, "Enter", [self.outside(tensor)], tensor.dtype, is_constant=True)

    def outside(self, tensor: tf.Tensor) -> str:
        label = f"from/{tensor.op.name}:{tensor.value_index}"
        self.outer[label] = tensor
        return label

    def add(
        self, label: str, kind: str, inputs: Iterable[str], dtype: tf.DType, **attributes: int
    ) -> None:
        self.node(label, kind, inputs, T=dtype, **attributes)

    def node(
        self,
        label: str,
        kind: str,
        inputs: Iterable[str],
        **attributes: tf.DType | int | tf.AttrValue,
    ) -> None:
        node = self.nodes.node.add(name=label, op=kind)
        node.input.extend(inputs)
        if kind == "Enter":
            node.attr["frame_name"].s = self.name.encode()
            node.attr["parallel_iterations"].i = 1  # one step after the other
        for name, value in attributes.items():
            if isinstance(value, tf.AttrValue):
                node.attr[name].CopyFrom(value)
            elif isinstance(value, tf.DType):
                node.attr[name].type = value.as_datatype_enum
            elif isinstance(value, bool):
                node.attr[name].b = value
            elif name == "value":
                node.attr[name].tensor.CopyFrom(tf.make_tensor_proto(value, tf.int32))
            else:
                node.attr[name].i = value
