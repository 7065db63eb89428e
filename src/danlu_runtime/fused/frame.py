"""A step's operations as the body of a loop of TensorFlow's first kind, written node by node.

``tf.while_loop`` cannot take a body that has such loops of its own when it is imported; and here
every name, device and control input of the step is seen to stay what it was.

Values are made in every round and the last ones kept. The other way, all steps but the last in the
loop and that one as a run of its own, was not faster (bench/loop.py), and draws out of turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.behind import Behind
from danlu_runtime.fused.trail import KIND, Trail

_COLOCATED = b"loc:@"


@dataclass
class Frame:
    """The nodes of a loop, and which tensors of the graph they take from outside."""

    name: str  # of no other loop in the graph
    nodes: tf.GraphDef = field(default_factory=tf.GraphDef)
    outer: dict[str, tf.Tensor] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    def write(
        self,
        behind: Behind,
        op: tf.Operation,
        values: Sequence[tf.Tensor],
        steps: tf.Tensor,
        trail: Trail | None = None,
    ) -> list[str]:
        """Write the loop; return the names of its results: the count of steps, and the values."""
        zero = tf.constant(0, tf.int32)
        self._add("steps", "Enter", [self._outer(steps)], steps.dtype, is_constant=True)
        done = self._variable("done", zero)
        self._add("less", "Less", ["done/merge", "steps"], tf.int32)
        self._node("more", "LoopCond", ["less"])
        self._add("begin", "Identity", ["done/switch:1"], tf.int32)
        names = self._body(behind)
        ends = [f"^{names[each.op]}" for each in values] + [f"^{names[op]}"]
        if trail is not None:
            ends.append(self._keep(trail, names[op], [each.dtype for each in values]))
        self._node("one", "Const", ["^begin"], dtype=tf.int32, value=1)
        self._add("sum", "AddV2", ["begin", "one", *dict.fromkeys(ends)], tf.int32)
        self._add("done/next", "NextIteration", ["sum"], tf.int32)
        results = [done]
        for number, value in enumerate(values):
            label = f"value_{number}"
            results.append(self._variable(label, tf.zeros([], value.dtype), device=value.device))
            # By way of a node that is of this round in any case: what comes from outside is not.
            last = [_at(names[value.op], value), "^begin"]
            self._add(f"{label}/last", "Identity", last, value.dtype)
            self._add(f"{label}/next", "NextIteration", [f"{label}/last"], value.dtype)
        return results

    def _keep(self, trail: Trail, op: str, kinds: Sequence[tf.DType]) -> str:
        """Write what keeps the values of a round, and its time; return what waits for that."""
        self._add("trail", "Enter", [self._outer(trail.handle)], tf.resource, is_constant=True)
        for number, kind in enumerate(kinds):
            self._node(f"number_{number}", "Cast", [f"value_{number}/last"], SrcT=kind, DstT=KIND)
        self._node("now", "Timestamp", [f"^{op}"])
        row = [*(f"number_{number}" for number in range(len(kinds))), "now"]
        self._node("row", "Pack", row, T=KIND, N=len(row), axis=0)
        place = ["trail", "begin", "row"]
        self._node("kept", "ResourceScatterUpdate", place, dtype=KIND, Tindices=tf.int32)
        return "^kept"

    def _variable(self, label: str, first: tf.Tensor, device: str = "") -> str:
        """Write what goes round in the loop, all but what it is set to in the end of a round."""
        kind = first.dtype
        self._add(f"{label}/enter", "Enter", [self._outer(first)], kind, is_constant=False)
        self._add(f"{label}/merge", "Merge", [f"{label}/enter", f"{label}/next"], kind, N=2)
        self._add(f"{label}/switch", "Switch", [f"{label}/merge", "more"], kind)
        self._add(f"{label}/exit", "Exit", [f"{label}/switch"], kind)
        return f"{label}/exit:0"

    def _body(self, behind: Behind) -> dict[tf.Operation, str]:
        names = {each: f"step/{each.name}" for each in behind.inside}
        for each in behind.outside:
            names[each] = f"outer/{each.name}"
            for output in each.outputs:
                entered = self._outer(output)
                self._add(names[each], "Enter", [entered], output.dtype, is_constant=True)
                self.devices[names[each]] = each.device
        known = {each.name.encode(): name.encode() for each, name in names.items()}
        for each in behind.inside:
            self._copy(each, names, known)
        return names

    def _copy(
        self, source: tf.Operation, names: dict[tf.Operation, str], known: dict[bytes, bytes]
    ) -> None:
        node = self.nodes.node.add()
        node.CopyFrom(source.node_def)
        node.name = names[source]
        del node.input[:]
        node.input.extend(_at(names[each.op], each) for each in source.inputs)
        # What outside is waited for is there before the loop begins.
        node.input.extend(f"^{names[each]}" for each in source.control_inputs)
        if all(name.lstrip("^").startswith("outer/") for name in node.input):
            node.input.append("^begin")  # else it would run after the last step once more
        if "_class" in node.attr:
            places = node.attr["_class"].list.s
            places[:] = list(_renamed(places, known))
        if "frame_name" in node.attr:  # a loop of the step's own
            node.attr["frame_name"].s = f"{self.name}/".encode() + node.attr["frame_name"].s
        self.devices[node.name] = source.device

    def _outer(self, tensor: tf.Tensor) -> str:
        label = f"from/{tensor.op.name}:{tensor.value_index}"
        self.outer[label] = tensor
        return label

    def _add(
        self, label: str, kind: str, inputs: Iterable[str], dtype: tf.DType, **attributes: int
    ) -> None:
        self._node(label, kind, inputs, T=dtype, **attributes)

    def _node(
        self, label: str, kind: str, inputs: Iterable[str], **attributes: tf.DType | int
    ) -> None:
        node = self.nodes.node.add(name=label, op=kind)
        node.input.extend(inputs)
        if kind == "Enter":
            node.attr["frame_name"].s = self.name.encode()
            node.attr["parallel_iterations"].i = 1  # one step after the other
        for name, value in attributes.items():
            if isinstance(value, tf.DType):
                node.attr[name].type = value.as_datatype_enum
            elif isinstance(value, bool):
                node.attr[name].b = value
            elif name == "value":
                node.attr[name].tensor.CopyFrom(tf.make_tensor_proto(value, tf.int32))
            else:
                node.attr[name].i = value


def _at(name: str, tensor: tf.Tensor) -> str:
    return f"{name}:{tensor.value_index}"


def _renamed(places: Iterable[bytes], known: dict[bytes, bytes]) -> Iterable[bytes]:
    """Yield what a copy is to lie beside; what is not copied has no say."""
    for place in places:
        target = known.get(place.removeprefix(_COLOCATED))
        if target is not None:
            yield _COLOCATED + target
