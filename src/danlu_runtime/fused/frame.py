"""A step's operations as the body of a loop of TensorFlow's first kind, written node by node.

``tf.while_loop`` cannot take a body that has such loops of its own when it is imported; and here
every name, device and control input of the step is seen to stay what it was.

Values are made in every round and the last ones kept. The other way, all steps but the last in the
loop and that one as a run of its own, was not faster (bench/loop.py), and draws out of turn.
"""

from collections.abc import Iterable, Sequence

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.behind import Behind
from danlu_runtime.fused.early import Early
from danlu_runtime.fused.nodes import Nodes
from danlu_runtime.fused.trail import KIND, Trail

_COLOCATED = b"loc:@"


class Frame(Nodes):
    """The loop of a step."""

    def write(
        self,
        behind: Behind,
        op: tf.Operation,
        values: Sequence[tf.Tensor],
        steps: tf.Tensor,
        trail: Trail | None = None,
        early: Early | None = None,
    ) -> list[str]:
        """Write the loop; return the names of its results: the count of steps, and the values."""
        zero = tf.constant(0, tf.int32)
        self.enter("steps", steps)
        done = self.variable("done", zero)
        self.add("less", "Less", ["done/merge", "steps"], tf.int32)
        self.node("more", "LoopCond", ["less" if early is None else "early/more"])
        self.add("begin", "Identity", ["done/switch:1"], tf.int32)
        self.node("one", "Const", ["^begin"], dtype=tf.int32, value=1)
        names = self._body(behind, {} if early is None else early.write(self, steps))
        ends = [f"^{names[each.op]}" for each in values] + [f"^{names[op]}"]
        if trail is not None:
            ends.append(self._keep(trail, names[op], [each.dtype for each in values]))
        self.add("sum", "AddV2", ["begin", "one", *dict.fromkeys(ends)], tf.int32)
        self.add("done/next", "NextIteration", ["sum"], tf.int32)
        results = [done]
        for number, value in enumerate(values):
            label = f"value_{number}"
            results.append(self.variable(label, tf.zeros([], value.dtype)))
            # By way of a node that is of this round in any case: what comes from outside is not.
            last = [_at(names[value.op], value), "^begin"]
            self.add(f"{label}/last", "Identity", last, value.dtype)
            self.add(f"{label}/next", "NextIteration", [f"{label}/last"], value.dtype)
        return results

    def _keep(self, trail: Trail, op: str, kinds: Sequence[tf.DType]) -> str:
        """Write what keeps the values of a round, and its time; return what waits for that."""
        self.enter("trail", trail.handle)
        for number, kind in enumerate(kinds):
            self.node(f"number_{number}", "Cast", [f"value_{number}/last"], SrcT=kind, DstT=KIND)
        self.node("now", "Timestamp", [f"^{op}"])
        row = [*(f"number_{number}" for number in range(len(kinds))), "now"]
        self.node("row", "Pack", row, T=KIND, N=len(row), axis=0)
        place = ["trail", "begin", "row"]
        self.node("kept", "ResourceScatterUpdate", place, dtype=KIND, Tindices=tf.int32)
        return "^kept"

    def _body(self, behind: Behind, written: dict[tf.Operation, str]) -> dict[tf.Operation, str]:
        """Write a step; return the names of its operations, some of which are written already."""
        names = {each: f"step/{each.name}" for each in behind.inside} | written
        for each in behind.outside:
            names[each] = f"outer/{each.name}"
            for output in each.outputs:
                self.enter(names[each], output)
                self.devices[names[each]] = each.device
        known = {each.name.encode(): name.encode() for each, name in names.items()}
        for each in behind.inside:
            if each not in written:
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


def _at(name: str, tensor: tf.Tensor) -> str:
    return f"{name}:{tensor.value_index}"


def _renamed(places: Iterable[bytes], known: dict[bytes, bytes]) -> Iterable[bytes]:
    """Yield what a copy is to lie beside; what is not copied has no say."""
    for place in places:
        target = known.get(place.removeprefix(_COLOCATED))
        if target is not None:
            yield _COLOCATED + target
