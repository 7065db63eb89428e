"""Determines from the graph how a fetch changes its variables.

Each fetch is analysed once. Operations that were found not to train are not analysed again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorflow.python.training import training_util


def single(fetches: Any) -> Iterator[Any]:
    """Yield the single fetches in order."""
    if isinstance(fetches, list | tuple):
        for fetch in fetches:
            yield from single(fetch)
    elif isinstance(fetches, Mapping):
        for fetch in fetches.values():
            yield from single(fetch)
    else:
        yield fetches


def pairs(fetches: Any, values: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each single fetch with its value."""
    if isinstance(fetches, list | tuple):
        for fetch, value in zip(fetches, values, strict=True):
            yield from pairs(fetch, value)
    elif isinstance(fetches, Mapping):
        for key, fetch in fetches.items():
            yield from pairs(fetch, values[key])
    else:
        yield fetches, values


def form(fetches: Any, value: Callable[[Any], Any]) -> Any:
    """Return the value of each single fetch, in the structure of ``fetches``, as a run would."""
    if isinstance(fetches, tuple) and hasattr(fetches, "_make"):
        return fetches._make(form(fetch, value) for fetch in fetches)
    if isinstance(fetches, list | tuple):
        formed = [form(fetch, value) for fetch in fetches]
        return formed if isinstance(fetches, list) else tuple(formed)
    if isinstance(fetches, Mapping):
        return {key: form(fetch, value) for key, fetch in fetches.items()}
    return value(fetches)


_PLACE = "_danlu_fused"


@dataclass(frozen=True)
class Mark:
    """Marks a tensor that makes several steps of ``op`` per run, as many as ``asked`` is fed."""

    op: Any
    asked: Any

    def times(self, feeds: Mapping[Any, Any] | None) -> int:
        """Return the number of steps that a run with these feeds makes."""
        for fed, value in (feeds or {}).items():
            if fed is self.asked or fed == self.asked.name:
                return int(value)
        return 1


def mark(graph: Any, op: Any, tensors: Sequence[Any], asked: Any) -> None:
    """Mark ``tensors`` as results of several steps of ``op``."""
    if not hasattr(graph, _PLACE):
        setattr(graph, _PLACE, {})
    marks = getattr(graph, _PLACE)
    for tensor in tensors:
        marks[tensor.op] = Mark(op, asked)


def mark_of(operation: Any) -> Mark | None:
    """Return the mark of an operation if its run makes several steps."""
    marks: Mapping[Any, Mark] = getattr(operation.graph, _PLACE, {})
    return marks.get(operation)


_UPDATE = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")  # optimizer kernels
_ADD = ("AssignAdd", "AssignAddVariableOp")
_ASSIGN = re.compile(r"(Resource)?(Assign(Add|Sub)?(VariableOp)?|Scatter(Nd)?(Add|Sub|Update))$")
_PASSED = ("Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch")
_READ = ("Identity", "ReadVariableOp")


@dataclass(frozen=True, eq=False)
class FetchInfo:
    """A single fetch; ``element`` is its tensor or operation, if it is one."""

    element: Any = None
    trains: frozenset[Any] = frozenset()  # the operations that train; equal sets are equal keys
    step: Any = None  # the operation of the step counter variable that its run changes
    reads: Any = None  # the variable that it reads
    is_operation: bool = False
    fused: Mark | None = None  # set if it is a result of several steps


NOTHING = FetchInfo()


@dataclass(eq=False)
class GraphInfo:
    """The training information of one graph, stored in the graph itself."""

    graph: Any
    leaves: dict[Any, tuple[Any, FetchInfo]] = field(default_factory=dict)
    counters: dict[Any, Any] = field(default_factory=dict)  # step counter -> its fetch
    runs: dict[frozenset[Any], int] = field(default_factory=dict)
    stepped: int = 0  # runs that changed a step counter
    base: int | None = None  # the step counter before the first of them, set when a loop needs it
    left_out: int = 0
    # Operations that neither assign variables nor depend on an assignment.
    _idle: set[Any] = field(default_factory=set)

    @property
    def steps(self) -> int:
        return self.stepped or max(self.runs.values(), default=0)

    def training(self, fetches: Any) -> Sequence[FetchInfo]:
        """Return the fetches that train; cheap because it is called for every run."""
        found: list[FetchInfo] = []
        for fetch in fetches if isinstance(fetches, list | tuple) else (fetches,):
            known = self.leaves.get(id(fetch))
            leaves = (known[1],) if known is not None else map(self.leaf, single(fetch))
            found += [leaf for leaf in leaves if leaf.trains]
        return found

    def leaf(self, fetch: Any) -> FetchInfo:
        key = fetch if isinstance(fetch, str) else id(fetch)
        known = self.leaves.get(key)
        if known is None:
            # The reference to the fetch keeps its id from being reused.
            known = self.leaves[key] = (fetch, self._look(fetch))
        return known[1]

    def _look(self, fetch: Any) -> FetchInfo:
        try:
            element = self.graph.as_graph_element(fetch)
        except (TypeError, ValueError, KeyError):
            return NOTHING  # a SparseTensor, or an error that the run itself will raise
        operation = getattr(element, "op", element)
        is_operation = operation is element
        fused = mark_of(operation)
        if fused is not None:  # its steps are those of the copied operation
            step = self.leaf(fused.op)
            return FetchInfo(element, step.trains, step.step, None, is_operation, fused)
        trains, assigns = self._behind(operation)
        counter = self._counter(assigns) if trains else None
        reads = None if is_operation or trains else _variable_read(operation)
        return FetchInfo(element, trains, counter, reads, is_operation)

    def _behind(self, operation: Any) -> tuple[frozenset[Any], list[Any]]:
        """Return the operations that train when ``operation`` runs, and all its assignments."""
        seen, todo = {operation}, [operation]
        updates, assigns = [], []
        while todo:
            current = todo.pop()
            if current in self._idle:
                continue
            kind = current.type
            if _UPDATE.match(kind):
                updates.append(current)
            elif _ASSIGN.match(kind):
                assigns.append(current)
            for before in _inputs(current):
                if before not in seen:
                    seen.add(before)
                    todo.append(before)
        if not updates and not assigns:
            self._idle |= seen
            return frozenset(), []
        if not updates:
            updates = self._hand_made(assigns)
        return frozenset(updates), assigns

    def _hand_made(self, assigns: list[Any]) -> list[Any]:
        """Return the assignments that train in a graph without optimizer kernels.

        In a graph with optimizer kernels, such assignments are averages and copies of variables.
        """
        trainable = self._trainable()
        found = [
            assign
            for assign in assigns
            if _target(assign) in trainable and _changes_its_own_value(assign)
        ]
        if found and any(_UPDATE.match(each.type) for each in self.graph.get_operations()):
            return []
        return found

    def _trainable(self) -> set[Any]:
        return {variable.op for variable in self.graph.get_collection("trainable_variables")}

    def _counter(self, assigns: list[Any]) -> Any:
        """Return the assigned step counter: the global step, or a variable that looks like one."""
        declared = self._declared()
        trainable = self._trainable()
        found = []
        for assign in assigns:
            target = _target(assign)
            if target is declared and target is not None:
                return self._counted(target)
            if assign.type in _ADD and target not in trainable and _is_whole_number(assign):
                found.append(target)
        named = [target for target in found if "step" in target.name.lower()]
        return self._counted((named or found)[0]) if found else None

    def _declared(self) -> Any:
        try:
            step = training_util.get_global_step(self.graph)
        except (TypeError, ValueError):
            return None
        return None if step is None else step.op

    def _counted(self, target: Any) -> Any:
        if target not in self.counters:
            self.counters[target] = self._fetchable(target)
        return target

    def _fetchable(self, target: Any) -> Any:
        """Return a tensor that reads the counter and has no other effect, or None."""
        value = target.outputs[0]
        if value.dtype.base_dtype.is_integer:
            return value  # a reference variable
        for reader in value.consumers():
            if reader.type == "ReadVariableOp" and not reader.control_inputs:
                return reader.outputs[0]
        return None


def ledger_of(graph: Any) -> GraphInfo:
    found = getattr(graph, "_danlu_ledger", None)
    if found is None:
        found = graph._danlu_ledger = GraphInfo(graph)
    return found


def _inputs(operation: Any) -> Iterable[Any]:
    for tensor in operation.inputs:
        yield tensor.op
    yield from operation.control_inputs


def _target(assign: Any) -> Any:
    """Return the operation of the assigned variable."""
    operation = assign.inputs[0].op
    while operation.type in _PASSED and operation.inputs:
        operation = operation.inputs[0].op
    return operation


def _changes_its_own_value(assign: Any) -> bool:
    """Return True for an update like ``w - rate * gradient``.

    Return False for an initial, restored or copied value.
    """
    if not assign.type.startswith(("Assign", "AssignVariableOp")) or assign.type in _ADD:
        return True
    if "Sub" in assign.type:
        return True
    target = _target(assign)
    seen, todo = set(), [tensor.op for tensor in list(assign.inputs)[1:]]
    while todo:
        current = todo.pop()
        if current is target:
            return True
        if current not in seen:
            seen.add(current)
            todo.extend(tensor.op for tensor in current.inputs)
    return False


def _is_whole_number(assign: Any) -> bool:
    value = assign.inputs[1]
    return bool(value.dtype.base_dtype.is_integer) and value.shape.rank == 0


def _variable_read(operation: Any) -> Any:
    if operation.type in _READ and operation.inputs:
        return _target(operation)
    return operation if operation.type in ("VariableV2", "Variable") else None
