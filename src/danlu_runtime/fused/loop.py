"""The training loop that is added to a graph, and its interface for training code."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.ops import control_flow_ops

from danlu.errors import Unsupported
from danlu_runtime.fused.compiled import Program, why_not_compilable
from danlu_runtime.fused.reading import XlaSplit, fitting, halves, is_drawn
from danlu_runtime.fused.refusals import XlaBenchmark, why_not
from danlu_runtime.fused.step_values import KIND, StepOps, StepValues, can_be_kept, find_step_ops
from danlu_runtime.steps.graph import mark


@dataclass
class Nodes:
    """Graph nodes to import, and the tensors of the graph that they use as inputs.

    ``devices`` maps a node to its device, for nodes that need a certain device.
    """

    name: str  # unique in the graph
    nodes: tf.GraphDef = field(default_factory=tf.GraphDef)
    outer: dict[str, tf.Tensor] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)

    def variable(self, label: str, first: tf.Tensor) -> str:
        """Write the nodes of a loop variable, except the node that sets its next value.

        Return the name of its final value.
        """
        kind = first.dtype
        self.add(f"{label}/enter", "Enter", [self.outside(first)], kind, is_constant=False)
        self.add(f"{label}/merge", "Merge", [f"{label}/enter", f"{label}/next"], kind, N=2)
        self.add(f"{label}/switch", "Switch", [f"{label}/merge", "more"], kind)
        self.add(f"{label}/exit", "Exit", [f"{label}/switch"], kind)
        return f"{label}/exit:0"

    def enter(self, label: str, tensor: tf.Tensor) -> None:
        """Write a loop constant: a tensor with the same value in every iteration."""
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
            node.attr["parallel_iterations"].i = 1  # steps run one after the other
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


_READS = "IteratorGetNext"


@dataclass(frozen=True)
class Prefetch:
    """The ``operation`` of a step that reads the next batch from the iterator ``handle``.

    The data of the next step is read while a step runs. A call reads no more than its steps need.
    The end of the data is raised only after the last step, as a single step would raise it.
    """

    operation: tf.Operation

    @property
    def handle(self) -> tf.Tensor:
        return self.operation.inputs[0]

    @property
    def _data(self) -> dict[str, Any]:
        """The types and shapes of a batch."""
        return {name: self.operation.get_attr(name) for name in ("output_types", "output_shapes")}

    def first(self, asked: tf.Tensor) -> tf.Tensor:
        """Return the data of the first step as an optional, empty at the end of the data."""
        with tf.control_dependencies([asked]), tf.device(self.operation.device):
            return tf.raw_ops.IteratorGetNextAsOptional(iterator=self.handle, **self._data)

    def write(self, nodes: Nodes, steps: tf.Tensor) -> dict[tf.Operation, str]:
        """Write the nodes that provide the data of an iteration and read that of the next one.

        The next batch is read only if there will be a next iteration. The node ``early/more`` is
        true if there is one. Return the name of the data in the loop.
        """
        data = {name: self.operation.node_def.attr[name] for name in self._data}
        before = len(nodes.nodes.node)
        nodes.variable("early", self.first(steps))
        nodes.node("early/there", "OptionalHasValue", ["early/merge"])
        nodes.node("early/more", "LogicalAnd", ["less", "early/there"])
        nodes.node("early/data", "OptionalGetValue", ["early/switch:1"], **data)
        nodes.add("early/following", "AddV2", ["begin", "one"], tf.int32)
        nodes.add("early/wanted", "Less", ["early/following", "steps"], tf.int32)
        nodes.enter("early/iterator", self.handle)
        nodes.add("early/which", "Switch", ["early/iterator", "early/wanted"], tf.resource)
        nodes.node("early/read", "IteratorGetNextAsOptional", ["early/which:1"], **data)
        nodes.add("early/unread", "Identity", ["early/which"], tf.resource)
        nodes.node("early/none", "OptionalNone", ["^early/unread"])
        nodes.add("early/one", "Merge", ["early/none", "early/read"], tf.variant, N=2)
        nodes.add("early/next", "NextIteration", ["early/one"], tf.variant)
        for each in nodes.nodes.node[before:]:
            nodes.devices[each.name] = self.operation.device
        return {self.operation: "early/data"}

    def check_end_of_data(self, done: tf.Tensor, asked: tf.Tensor) -> tf.Tensor:
        """Return ``done`` if all requested steps were made, else raise the end-of-data error.

        A switch keeps the iterator from being read if no step is missing.
        """
        some_missing = tf.less(done, asked)
        all_done, _ = control_flow_ops.switch(done, some_missing)
        with tf.device(self.operation.device):
            _, ended = control_flow_ops.switch(self.handle, some_missing)
            past = tf.raw_ops.IteratorGetNext(iterator=ended, **self._data)
        with tf.control_dependencies(past):
            never = tf.constant(0, done.dtype)
        return control_flow_ops.merge([all_done, never])[0]


def reading_early(found: StepOps) -> Prefetch | None:
    """Return the read operation that can be prefetched, or None if results could differ.

    Results could differ if the step reads twice, because one iterator may have data left when the
    other has none. They could also differ if the step waits for something before it reads. A data
    set that reads variables is allowed, because tf.data itself reads it ahead.
    """
    reading = [each for each in found.inside if "Iterator" in each.type]
    if len(reading) != 1 or reading[0].type != _READS or reading[0].control_inputs:
        return None
    (handle,) = reading[0].inputs
    if handle.op not in found.outside or not _is_on_cpu(reading[0]):
        return None
    return Prefetch(reading[0])


def _is_on_cpu(operation: tf.Operation) -> bool:
    spec = tf.DeviceSpec.from_string(operation.device or "")
    return spec.device_type in (None, "CPU")


_COLOCATED = b"loc:@"


class Frame(Nodes):
    """The nodes of a loop that runs a training step, in TensorFlow 1 control flow.

    ``tf.while_loop`` cannot take an imported body that contains such loops. Writing the nodes also
    preserves every name, device and control input of the step. Values are computed in every
    iteration and the last ones are kept. Running the last step outside the loop was not faster
    (bench/loop.py) and draws random numbers out of order.
    """

    def write(
        self,
        behind: StepOps,
        op: tf.Operation,
        values: Sequence[tf.Tensor],
        steps: tf.Tensor,
        trail: StepValues | None = None,
        early: Prefetch | None = None,
    ) -> list[str]:
        """Write the loop; return the names of the step count and of the values."""
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
            # This node belongs to the iteration in any case. A value from outside the loop does
            # not.
            last = [_at(names[value.op], value), "^begin"]
            self.add(f"{label}/last", "Identity", last, value.dtype)
            self.add(f"{label}/next", "NextIteration", [f"{label}/last"], value.dtype)
        return results

    def _keep(self, trail: StepValues, op: str, kinds: Sequence[tf.DType]) -> str:
        """Write the nodes that store values and time of an iteration; return a control input."""
        self.enter("trail", trail.handle)
        for number, kind in enumerate(kinds):
            self.node(f"number_{number}", "Cast", [f"value_{number}/last"], SrcT=kind, DstT=KIND)
        self.node("now", "Timestamp", [f"^{op}"])
        row = [*(f"number_{number}" for number in range(len(kinds))), "now"]
        self.node("row", "Pack", row, T=KIND, N=len(row), axis=0)
        place = ["trail", "begin", "row"]
        self.node("kept", "ResourceScatterUpdate", place, dtype=KIND, Tindices=tf.int32)
        return "^kept"

    def _body(self, behind: StepOps, written: dict[tf.Operation, str]) -> dict[tf.Operation, str]:
        """Write the nodes of a step; return the names of its operations.

        The operations in ``written`` exist already.
        """
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
        # Control inputs from outside have run before the loop starts.
        node.input.extend(f"^{names[each]}" for each in source.control_inputs)
        if all(name.lstrip("^").startswith("outer/") for name in node.input):
            node.input.append("^begin")  # otherwise it would run once more after the last step
        if "_class" in node.attr:
            places = node.attr["_class"].list.s
            places[:] = list(_renamed(places, known))
        if "frame_name" in node.attr:  # a loop inside the step
            node.attr["frame_name"].s = f"{self.name}/".encode() + node.attr["frame_name"].s
        self.devices[node.name] = source.device


def _at(name: str, tensor: tf.Tensor) -> str:
    return f"{name}:{tensor.value_index}"


def _renamed(places: Iterable[bytes], known: dict[bytes, bytes]) -> Iterable[bytes]:
    """Yield the colocation constraints of a copy; constraints on uncopied nodes are dropped."""
    for place in places:
        target = known.get(place.removeprefix(_COLOCATED))
        if target is not None:
            yield _COLOCATED + target


_AHEAD = 100


class Fused:
    """A loop of training steps of ``op``; ``values`` are those of the last step of a call.

    Create it once for a graph, before the graph is finalized. A call that reaches the end of the
    data has made the steps before it, as single runs would have. After any other data error the
    current step may be half done; resume from a checkpoint.

    ``alone`` is true if single steps beside the loop would draw random numbers or read data out of
    order. With ``trail`` the values of every step are stored, for calls of at most ``steps`` steps;
    the values must be scalars. ``ahead`` is the maximum number of steps for which XLA input data is
    collected; it is lower if the data is large.

    Raises:
        Unsupported: the step cannot be fused; the message is that of ``why_not``.
    """

    def __init__(
        self,
        op: tf.Operation | tf.Tensor,
        values: Sequence[tf.Tensor],
        *,
        xla: bool = False,
        steps: int | None = None,
        trail: bool = False,
        ahead: int = _AHEAD,
    ) -> None:
        reason = why_not(op, values)
        if reason is not None:
            raise Unsupported(reason)
        if xla and (steps is None or steps < 1):
            raise ValueError(f"A compiled call makes a fixed number of steps, got {steps!r}.")
        if trail and (steps is None or not can_be_kept(values)):
            raise ValueError("A trail is of single numbers, and of a fixed number of steps.")
        op = op.op if isinstance(op, tf.Tensor) else op
        found = find_step_ops([op, *values])
        self.most = steps if xla or trail else None
        self._trial = XlaBenchmark() if xla else None
        self.alone = xla or draws(op, *values)
        parts = _compilable(found, op, values) if xla else None
        with _apart(op.graph), tf.name_scope("fused") as scope:
            self._asked = tf.placeholder_with_default(tf.constant(1, tf.int32), [], "steps")
            self.trail = StepValues(self.most or 1, len(values)) if trail else None
            if parts is not None:
                self._compiles = tf.placeholder_with_default(tf.constant(True), [], "compiles")
                state = (fitting(parts, ahead), self.trail, self._compiles)
                program = Program(parts, _handles(found), op, values, *state)
                results = program.results(self._cleared())
            else:
                results = _looped(found, op, values, self._cleared(), scope, self.trail)
            if self.trail is not None:
                self.trail.follows(results[0])
        self.done, *self.values = results
        self.op: tf.Operation = self.done.op
        recorded = [] if self.trail is None else [self.trail.after]
        mark(self.op.graph, op, [self.done, *self.values, *recorded], self._asked)

    def _cleared(self) -> tf.Tensor:
        """Return the requested number of steps, after clearing the step values of the last call."""
        return self._asked if self.trail is None else self.trail.cleared(self._asked)

    def feed(self, n: int) -> Mapping[Any, Any]:
        """Return the ``feed_dict`` of a call that makes n steps."""
        if n < 1:
            raise ValueError(f"A fused call makes 1 step or more, got {n!r}.")
        if self.most is not None and n > self.most:
            raise ValueError(f"This call makes {self.most} steps at most, got {n!r}.")
        feeds: dict[Any, Any] = {self._asked: n}
        if self._trial is not None:
            feeds[self._compiles] = self._trial.compiles
        return feeds

    @property
    def is_compiled(self) -> bool:
        return self._trial is not None

    def limit(self, steps: int) -> int:
        """Return the number of steps for the next call, at most ``steps``."""
        most = steps if self.most is None else min(steps, self.most)
        return most if self._trial is None else self._trial.limit(most)

    def took(self, n: int, seconds: float) -> str | None:
        """Record the duration of a call; return the reason if XLA is not used from now on.

        A caller that records durations must call ``limit`` before each call. Without recorded
        durations all calls are compiled.
        """
        return None if self._trial is None else self._trial.took(n, seconds)


def draws(*fetches: Any) -> bool:
    """Return True if a step draws random numbers."""
    return any(is_drawn(each) for each in find_step_ops(fetches).inside)


@contextmanager
def _apart(graph: tf.Graph) -> Iterator[None]:
    """Write into ``graph``, ignoring the caller's scopes, devices and control dependencies."""
    with (
        graph.as_default(),
        tf.control_dependencies(None),
        tf.device(None),
        tf.name_scope(None),
    ):
        yield


def _compilable(found: StepOps, op: tf.Operation, values: Sequence[tf.Tensor]) -> XlaSplit:
    """Split a step for XLA: first with the smallest host part, then with the largest."""
    reasons = []
    for early in (False, True):
        parts = halves(found, op, values, early=early)
        if not isinstance(parts, str):
            reason = why_not_compilable(parts, _handles(found), op)
            if reason is None:
                return parts
            parts = reason
        reasons.append(parts)
    raise Unsupported(reasons[-1])


def _handles(found: StepOps) -> list[tf.Tensor]:
    return [output for each in found.outside for output in each.outputs]


def _looped(
    found: StepOps,
    op: tf.Operation,
    values: Sequence[tf.Tensor],
    asked: tf.Tensor,
    scope: str,
    trail: StepValues | None,
) -> list[tf.Tensor]:
    """Add the loop to the graph; return the number of steps made and the values."""
    frame = Frame(scope.rstrip("/"))
    reading = reading_early(found)
    names = frame.write(found, op, values, asked, trail, reading)
    graph = op.graph
    results = tf.import_graph_def(
        frame.nodes, input_map=frame.outer, return_elements=names, name="loop"
    )
    prefix = results[0].op.name.removesuffix("done/exit")
    for name, device in frame.devices.items():
        # The import moves colocated nodes. Each copy belongs on the device of its source.
        graph.get_operation_by_name(prefix + name)._set_device(device)
    if reading is not None:
        with tf.control_dependencies([reading.check_end_of_data(results[0], asked)]):
            results = [tf.identity(each) for each in results]
    for result, value in zip(results[1:], values, strict=True):
        result.set_shape(value.shape)
    return results
