"""What a fetch does to the variables of its graph, read from the graph itself.

Looked at once for each fetch; what was found to train nothing is not looked at again.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tensorflow.python.training import training_util

from danlu_runtime.steps.fetches import single
from danlu_runtime.steps.marks import Mark, mark_of

_UPDATE = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]")  # kernels of optimizers
_ADD = ("AssignAdd", "AssignAddVariableOp")
_ASSIGN = re.compile(r"(Resource)?(Assign(Add|Sub)?(VariableOp)?|Scatter(Nd)?(Add|Sub|Update))$")
_PASSED = ("Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch")
_READ = ("Identity", "ReadVariableOp")


@dataclass(frozen=True, eq=False)
class Leaf:
    """One thing that is fetched. ``element``: its tensor or operation, where it is one."""

    element: Any = None
    trains: frozenset[Any] = frozenset()  # the operations that do, equal for equal sets
    step: Any = None  # the step counter its run changes: a variable's operation
    reads: Any = None  # the variable whose value it is
    is_operation: bool = False
    fused: Mark | None = None  # it is a result of several steps


NOTHING = Leaf()


@dataclass(eq=False)
class Ledger:
    """What is known of one graph. Lies in the graph itself, and goes with it."""

    graph: Any
    leaves: dict[Any, tuple[Any, Leaf]] = field(default_factory=dict)
    counters: dict[Any, Any] = field(default_factory=dict)  # step counter -> what to fetch for it
    runs: dict[frozenset[Any], int] = field(default_factory=dict)
    stepped: int = 0  # runs that changed a step counter
    base: int | None = None  # the step counter before the first of them, once a loop needs it
    left_out: int = 0
    _idle: set[Any] = field(default_factory=set)  # operations behind which nothing trains

    @property
    def steps(self) -> int:
        return self.stepped or max(self.runs.values(), default=0)

    def training(self, fetches: Any) -> Sequence[Leaf]:
        """Return what of the fetches trains; cheap, for it is asked for every run."""
        found: list[Leaf] = []
        for fetch in fetches if isinstance(fetches, list | tuple) else (fetches,):
            known = self.leaves.get(id(fetch))
            leaves = (known[1],) if known is not None else map(self.leaf, single(fetch))
            found += [leaf for leaf in leaves if leaf.trains]
        return found

    def leaf(self, fetch: Any) -> Leaf:
        key = fetch if isinstance(fetch, str) else id(fetch)
        known = self.leaves.get(key)
        if known is None:
            # The fetch is kept too: its id is its own as long as it lives.
            known = self.leaves[key] = (fetch, self._look(fetch))
        return known[1]

    def _look(self, fetch: Any) -> Leaf:
        try:
            element = self.graph.as_graph_element(fetch)
        except (TypeError, ValueError, KeyError):
            return NOTHING  # a SparseTensor, or a fault that the run itself will tell
        operation = getattr(element, "op", element)
        is_operation = operation is element
        fused = mark_of(operation)
        if fused is not None:  # its steps are those of the operation that was copied
            step = self.leaf(fused.op)
            return Leaf(element, step.trains, step.step, None, is_operation, fused)
        trains, assigns = self._behind(operation)
        counter = self._counter(assigns) if trains else None
        reads = None if is_operation or trains else _variable_read(operation)
        return Leaf(element, trains, counter, reads, is_operation)

    def _behind(self, operation: Any) -> tuple[frozenset[Any], list[Any]]:
        """Return what trains when ``operation`` runs, and every assignment that happens then."""
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
        """Return the assignments that train in a graph whose optimizer is made of plain ones.

        Beside real optimizers such assignments are averages and copies of variables.
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
        """Return the step counter among what is assigned: the global step, or what looks so."""
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
        """Return a tensor that is the counter's value and whose run does nothing else, or None."""
        value = target.outputs[0]
        if value.dtype.base_dtype.is_integer:
            return value  # a reference variable
        for reader in value.consumers():
            if reader.type == "ReadVariableOp" and not reader.control_inputs:
                return reader.outputs[0]
        return None


def ledger_of(graph: Any) -> Ledger:
    found = getattr(graph, "_danlu_ledger", None)
    if found is None:
        found = graph._danlu_ledger = Ledger(graph)
    return found  # type: ignore[no-any-return]


def _inputs(operation: Any) -> Iterable[Any]:
    for tensor in operation.inputs:
        yield tensor.op
    yield from operation.control_inputs


def _target(assign: Any) -> Any:
    """Return the operation of the variable that is written."""
    operation = assign.inputs[0].op
    while operation.type in _PASSED and operation.inputs:
        operation = operation.inputs[0].op
    return operation


def _changes_its_own_value(assign: Any) -> bool:
    """Tell a step ``w - rate * gradient`` from an initial, a restored or a copied value."""
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
