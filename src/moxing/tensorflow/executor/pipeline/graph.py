"""Reads the graph back from the tensors ``input_fn`` returned to where their data come from."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import op_def_registry

_PULLS = ("IteratorGetNext", "IteratorGetNextSync")
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_PYTHON = ("PyFunc", "EagerPyFunc")
# Stateful by declaration, though what they do ends with the evaluation they are part of.
_HARMLESS = frozenset({"Assert", "CheckNumerics", "CheckNumericsV2", "Print", "PrintV2"})
_HARMLESS |= {"Timestamp", "If", "While", "Case", "StatefulPartitionedCall"}
_WITHIN_A_RUN = ("TensorArray", "Stack", "TensorList")
# Filled once, before anything is read.
_TABLES = ("HashTableV2",)
_OF_TABLES = ("LookupTableFindV2", "LookupTableSizeV2")
_FILLING = ("InitializeTableV2", "InitializeTableFromTextFileV2", "InitializeTableFromDataset")
_FILLING += ("LookupTableImportV2",)
_LARGE = 4096  # bytes; smaller constants may decide a shape and are copied


@dataclass
class Reading:
    """The part of the graph that makes the tensors.

    ``pulls`` take an element from an iterator; ``outside`` are values that stay where they are:
    large constants and tables; ``between`` is the rest. ``obstacle`` says why this cannot become a
    tf.data pipeline, None if it can. ``ordered`` operations must see the elements one by one and
    in order: random numbers with a seed, and Python.
    """

    pulls: list[tf.Operation] = field(default_factory=list)
    between: list[tf.Operation] = field(default_factory=list)
    outside: list[tf.Operation] = field(default_factory=list)
    ordered: list[tf.Operation] = field(default_factory=list)
    drawn: list[tf.Operation] = field(default_factory=list)  # random without a seed
    obstacle: str | None = None


def read(tensors: Sequence[tf.Tensor]) -> Reading:
    """Walk back from ``tensors``."""
    reading = Reading()
    for operation in sorted(ancestors(tensor.op for tensor in tensors), key=_age):
        obstacle = _sort(operation, reading)
        reading.obstacle = reading.obstacle or obstacle
    return reading


def ancestors(
    operations: Iterable[tf.Operation],
    until: Collection[tf.Operation] = (),
    *,
    waited_for: bool = True,
) -> set[tf.Operation]:
    """Return the operations and all they need, as far as iterators and those of ``until``."""
    todo = list(operations)
    seen = set(todo)
    while todo:
        current = todo.pop()
        if current in until:
            continue
        new = set(before(current, waited_for=waited_for)) - seen
        seen |= new
        todo.extend(new)
    return seen


def before(operation: tf.Operation, *, waited_for: bool = True) -> Iterator[tf.Operation]:
    """Yield the operations that one needs; an element of an iterator needs none."""
    if operation.type in _PULLS:
        return
    yield from (tensor.op for tensor in operation.inputs)
    if waited_for:
        yield from operation.control_inputs


def _age(operation: tf.Operation) -> int:
    return operation._id  # type: ignore[no-any-return]


def _sort(operation: tf.Operation, reading: Reading) -> str | None:
    """Put an operation where it belongs; return what it is an obstacle for, if it is one."""
    if operation.type in _PULLS:
        reading.pulls.append(operation)
        return "an iterator waits for other operations" if operation.control_inputs else None
    if operation.type in _TABLES:
        reading.outside.append(operation)
        return _of_table(operation)
    if operation.type == "Const" and _size(operation) > _LARGE:
        reading.outside.append(operation)
        return None
    reading.between.append(operation)
    kinds = set(_kinds(operation))
    for kind, node in sorted(kinds):
        if kind == "obstacle":
            return f"'{operation.name}' is a {node}"
    if any(kind == "ordered" for kind, _ in kinds):
        reading.ordered.append(operation)
    elif any(kind == "drawn" for kind, _ in kinds):
        reading.drawn.append(operation)
    return None


def _size(operation: tf.Operation) -> int:
    output = operation.outputs[0]
    return (output.shape.num_elements() or 0) * max(output.dtype.size or 1, 1)


def _kinds(operation: tf.Operation) -> Iterator[tuple[str, str]]:
    """Say of an operation, and of those in its functions, what each does beyond computing."""
    yield _kind(operation.node_def), operation.type
    for function in functions_of(operation.graph, [operation.node_def]).values():
        for node in function.node_def:
            yield _kind(node), node.op


def _kind(node: Any) -> str:
    if node.op in PLACEHOLDERS:
        return "obstacle"
    known = op_def_registry.get(node.op)
    if known is None or not known.is_stateful:
        return ""  # a function called by its name is looked into by itself
    if node.op in _HARMLESS or node.op in _OF_TABLES or node.op.startswith(_WITHIN_A_RUN):
        return ""
    if node.op in _PYTHON:
        return "ordered"
    if "seed2" in node.attr and "Queue" not in node.op:
        return "ordered" if node.attr["seed"].i or node.attr["seed2"].i else "drawn"
    return "obstacle"


def functions_of(graph: tf.Graph, nodes: Iterable[Any]) -> dict[str, Any]:
    """Return the definitions of all functions that nodes call, and those call, by name."""
    found: dict[str, Any] = {}
    todo = list(nodes)
    while todo:
        for name in _called(todo.pop()):
            function = graph._get_function(name)
            if name not in found and function is not None:
                found[name] = function.cached_definition
                todo.extend(found[name].node_def)
    return found


def _called(node: Any) -> Iterator[str]:
    yield node.op
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)


def _of_table(table: tf.Operation) -> str | None:
    for operation in table.outputs[0].consumers():
        if operation.type not in (*_OF_TABLES, *_FILLING):
            return f"the table '{table.name}' is used by a {operation.type}"
    return None
