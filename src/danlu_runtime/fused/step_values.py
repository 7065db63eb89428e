"""Operations of a training step, and stored values of every step of a call.

A variable has one row per step: the values and, last, the completion time. A time below 0 means
unknown, and 0 means that the step was not made. The variable can also be read after a call that
reached the end of the data, because the steps before it were made.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from danlu_runtime.steps.graph import form, single

# Bytes. A larger constant is not copied. For a smaller one a copy is cheaper than a value that
# enters the loop.
_LARGE = 1 << 16


@dataclass(frozen=True)
class StepOps:
    """The operations of a step.

    ``inside`` runs in every step. ``outside`` exists once for all steps.
    """

    inside: tuple[tf.Operation, ...]
    outside: tuple[tf.Operation, ...]


def find_step_ops(fetches: Sequence[Any], but: Container[tf.Operation] = ()) -> StepOps:
    """Return all operations that run when ``fetches`` do, in creation order.

    The operations in ``but``, and those that only they need, are left out.
    """
    inside: set[tf.Operation] = set()
    outside: set[tf.Operation] = set()
    todo = [getattr(fetch, "op", fetch) for fetch in fetches]
    while todo:
        current = todo.pop()
        if current in inside or current in outside or current in but:
            continue
        if stays_outside(current):
            outside.add(current)
        else:
            inside.add(current)
            todo.extend(inputs_of(current))
    return StepOps(_in_order(inside), _in_order(outside))


def inputs_of(operation: tf.Operation) -> Iterable[tf.Operation]:
    for tensor in operation.inputs:
        yield tensor.op
    yield from operation.control_inputs


def stays_outside(operation: tf.Operation) -> bool:
    """Return True if an operation holds state for all steps or may be fed.

    An operation without inputs holds state if all its outputs are resources.
    """
    if operation.type == "PlaceholderWithDefault":
        return True
    if operation.inputs or not operation.outputs:
        return False
    if operation.type == "Const":
        return _size(operation.outputs[0]) > _LARGE
    return all(each.dtype == tf.resource for each in operation.outputs)


def _size(constant: tf.Tensor) -> int:
    if constant.dtype == tf.string or not constant.shape.is_fully_defined():
        return 0
    return int(constant.shape.num_elements()) * int(constant.dtype.size)


def _in_order(operations: Iterable[tf.Operation]) -> tuple[tf.Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each._id))


class Substitute:
    """Maps the tensors of a step to the results of the loop that replace them."""

    def __init__(self, step: Any, by: tf.Operation) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        self._step = step
        self.add(step, by)

    def add(self, element: Any, by: Any) -> None:
        self._known[id(element)] = (element, by)  # the reference keeps the id from being reused

    def knows(self, element: Any) -> bool:
        return id(element) in self._known

    @contextmanager
    def put_into(self, session: Any, feeds: Mapping[Any, Any]) -> Iterator[None]:
        """Replace the step in runs of ``session`` by the loop; other runs are unchanged."""
        run = session.run

        def substituted(fetches: Any, feed_dict: Any = None, *args: Any, **kwargs: Any) -> Any:
            elements = list(single(fetches))
            if not any(each is self._step for each in elements):
                return run(fetches, feed_dict, *args, **kwargs)
            wanted = {id(each): self._known[id(each)][1] for each in elements}
            values = run(list(wanted.values()), {**(feed_dict or {}), **feeds}, *args, **kwargs)
            found = dict(zip(wanted, values, strict=True))
            return form(fetches, lambda fetch: found[id(fetch)])

        session.run = substituted  # the session object keeps its type
        try:
            yield
        finally:
            del session.run


def copied(
    operations: Sequence[tf.Operation],
    given: Mapping[tf.Tensor, tf.Tensor],
    wanted: Sequence[Any],
    *,
    keep_devices: bool = True,
    waits: bool = False,
) -> list[Any]:
    """Copy ``operations`` into the default graph; return the copies of ``wanted``.

    With ``waits`` the copies run in their own thread, which may block for data. ``given`` replaces
    the outputs of operations that are not copied. Control inputs that are not copied are assumed to
    have run.
    """
    copies = set(operations)
    nodes = tf.GraphDef()
    used: dict[str, tf.Tensor] = {}
    for each in operations:
        node = nodes.node.add()
        node.CopyFrom(each.node_def)
        del node.input[:]
        for tensor in each.inputs:
            node.input.append(tensor.name)
            if tensor.op not in copies:
                used[tensor.name] = given[tensor]
        node.input.extend(f"^{one.name}" for one in each.control_inputs if one in copies)
        if "_class" in node.attr:
            del node.attr["_class"]
        if not keep_devices:
            node.device = ""
        if waits and node.op == "IteratorGetNext":
            node.op = "IteratorGetNextSync"  # avoids waking another thread
    names = [each.name for each in wanted if getattr(each, "op", each) in copies]
    found = iter(
        tf.import_graph_def(nodes, input_map=used, return_elements=names, name="step") or ()
    )
    return [next(found) if getattr(each, "op", each) in copies else given[each] for each in wanted]


def entered(tensors: Iterable[tf.Tensor]) -> dict[tf.Tensor, tf.Tensor]:
    """Return outer tensors as captured by the function that is being built."""
    graph = tf.get_default_graph()
    if not hasattr(graph, "capture"):
        return {each: each for each in tensors}
    return {each: graph.capture(each) for each in tensors}


class _Array(Protocol):
    def __getitem__(self, at: Any) -> Any: ...


KIND = tf.float64  # represents every 32-bit number and every step exactly


def can_be_kept(values: Sequence[tf.Tensor]) -> bool:
    """Return True if all values are scalar numbers."""
    return all(
        each.shape.rank == 0
        and (each.dtype.is_floating or each.dtype.is_integer or each.dtype.is_bool)
        for each in values
    )


class StepValues:
    """The variable that stores step values.

    ``handle`` is the handle of the variable. ``read`` is its value, valid at any time after the
    first call.
    """

    def __init__(self, steps: int, values: int) -> None:
        self.shape = [steps, values + 1]
        name = tf.get_default_graph().unique_name("trail")
        self.handle = tf.raw_ops.VarHandleOp(dtype=KIND, shape=self.shape, shared_name=name)
        self.read = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=KIND)
        self.after = self.read  # its value after a call; fetched together with the values

    def cleared(self, asked: tf.Tensor) -> tf.Tensor:
        """Return ``asked``, after the rows of the last call are cleared."""
        nothing = tf.zeros(self.shape, KIND)
        wiped = tf.raw_ops.AssignVariableOp(resource=self.handle, value=nothing)
        with tf.control_dependencies([wiped]):
            return tf.identity(asked)

    def add(self, at: tf.Tensor, rows: Any) -> tf.Operation:
        """Store the rows of the steps from ``at`` on."""
        (inside,) = entered([self.handle]).values()
        rows = tf.convert_to_tensor(rows)
        return tf.raw_ops.ResourceScatterUpdate(
            resource=inside, indices=at + tf.range(tf.shape(rows)[0]), updates=rows
        )

    def follows(self, done: tf.Tensor) -> None:
        """Make ``after`` read the variable after the call that has the result ``done``."""
        with tf.control_dependencies([done.op]):
            self.after = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=KIND)


def row_of(values: Sequence[tf.Tensor], at: tf.Tensor) -> tf.Tensor:
    """Return the row of a step that was completed at the time ``at``."""
    return tf.stack([*(tf.cast(each, KIND) for each in values), at])


def made(rows: _Array) -> int:
    """Return the number of steps that have a row."""
    return sum(1 for each in rows[:, -1] if each)


def times(rows: _Array, began: float, ended: float) -> list[float]:
    """Return the completion time of each step, on the clock of ``began`` and ``ended``.

    Compiled steps have no times. All steps of one program are assumed to take equally long.
    """
    steps = made(rows)
    completed = [float(each) for each in rows[:steps, -1]]
    if any(each < 0 for each in completed):
        return [began + (ended - began) * (step + 1) / steps for step in range(steps)]
    return [min(max(ended - (completed[-1] - each), began), ended) for each in completed]
