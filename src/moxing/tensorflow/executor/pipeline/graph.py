"""Analysis of the graph behind the tensors of ``input_fn``, and its copying into tf.data.

Contains the classification of operations, functions for tf.data, and the data of iterators.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import op_def_registry, ops
from tensorflow.python.framework.func_graph import FuncGraph

_PULLS = ("IteratorGetNext", "IteratorGetNextSync")
PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
_PYTHON = ("PyFunc", "EagerPyFunc")
# Declared as stateful, although their effect ends with the evaluation.
_HARMLESS = frozenset({"Assert", "CheckNumerics", "CheckNumericsV2", "Print", "PrintV2"})
_HARMLESS |= {"Timestamp", "If", "While", "Case", "StatefulPartitionedCall"}
_WITHIN_A_RUN = ("TensorArray", "Stack", "TensorList")
# Filled once, before anything is read.
_TABLES = ("HashTableV2",)
_OF_TABLES = ("LookupTableFindV2", "LookupTableSizeV2")
_FILLING = (
    *("InitializeTableV2", "InitializeTableFromTextFileV2", "InitializeTableFromDataset"),
    "LookupTableImportV2",
)
_LARGE = 4096  # bytes; smaller constants may decide a shape and are copied


@dataclass
class Reading:
    """The part of the graph that makes the tensors.

    ``pulls`` take an element from an iterator. ``outside`` are values that stay where they are:
    large constants and tables. ``between`` are the other operations. ``obstacle`` is the reason why
    this cannot become a tf.data pipeline, or None. ``ordered`` operations must receive the elements
    one by one and in order: random numbers with a seed, and Python functions.
    """

    pulls: list[tf.Operation] = field(default_factory=list)
    between: list[tf.Operation] = field(default_factory=list)
    outside: list[tf.Operation] = field(default_factory=list)
    ordered: list[tf.Operation] = field(default_factory=list)
    drawn: list[tf.Operation] = field(default_factory=list)  # random without a seed
    obstacle: str | None = None


def read(tensors: Sequence[tf.Tensor]) -> Reading:
    """Classify all operations that ``tensors`` depend on."""
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
    """Return the operations and all they depend on, back to iterators and ``until``."""
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
    """Yield the direct inputs of an operation; an element of an iterator has none.

    With ``waited_for``, control inputs are included.
    """
    if operation.type in _PULLS:
        return
    yield from (tensor.op for tensor in operation.inputs)
    if waited_for:
        yield from operation.control_inputs


def _age(operation: tf.Operation) -> int:
    return operation._id


def _sort(operation: tf.Operation, reading: Reading) -> str | None:
    """Add an operation to ``reading``; return the reason if it is an obstacle, else None."""
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
    """Yield the kind of effect and the type of an operation and of those in its functions."""
    yield _kind(operation.node_def), operation.type
    for function in functions_of(operation.graph, [operation.node_def]).values():
        for node in function.node_def:
            yield _kind(node), node.op


def _kind(node: Any) -> str:
    if node.op in PLACEHOLDERS:
        return "obstacle"
    known = op_def_registry.get(node.op)
    if known is None or not known.is_stateful:
        return ""  # called functions are examined separately
    if node.op in _HARMLESS or node.op in _OF_TABLES or node.op.startswith(_WITHIN_A_RUN):
        return ""
    if node.op in _PYTHON:
        return "ordered"
    if "seed2" in node.attr and "Queue" not in node.op:
        return "ordered" if node.attr["seed"].i or node.attr["seed2"].i else "drawn"
    return "obstacle"


def functions_of(graph: tf.Graph, nodes: Iterable[Any]) -> dict[str, Any]:
    """Return the definitions of all functions that nodes call, also indirectly, by name."""
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


_AS_MANY_AS_USEFUL = -1


class Flow(NamedTuple):
    """A dataset with the values of ``tensors`` as elements, made by the operations ``done``.

    If ``batched``, its elements are batches of such values.
    """

    variant: tf.Tensor
    tensors: list[tf.Tensor]
    done: frozenset[tf.Operation]
    batched: bool = False


def mapped(
    flow: Flow,
    wanted: list[tf.Tensor],
    done: frozenset[tf.Operation],
    outside: Collection[tf.Operation],
    *,
    ordered: bool,
) -> Flow:
    """Return a dataset of the values of ``wanted``.

    ``done`` are the operations that have been evaluated after it. ``outside`` stay in the graph.
    The elements keep their order. If ``ordered``, each element is finished before the next one
    begins.
    """
    with Function([_spec(tensor) for tensor in flow.tensors]) as function:
        known = {t.ref(): i for t, i in zip(flow.tensors, function.inputs, strict=True)}
        missing = [tensor for tensor in wanted if tensor.op not in flow.done]
        copies = function.copy(missing, known, flow.done, outside)
        known |= {t.ref(): copy for t, copy in zip(missing, copies, strict=True)}
        function.outputs = [known[tensor.ref()] for tensor in wanted]
    return Flow(function.map(flow.variant, ordered=ordered), wanted, done)


class Function:
    """A function for tf.data. Inside ``with``, its graph is the default graph.

    The wrapper of tf.data would order stateful operations by control edges. After a branch of a
    TensorFlow 1 cond that is not taken, such an edge would disable the operations that follow.
    """

    def __init__(self, specs: Sequence[tf.TensorSpec]) -> None:
        self._outer: Any = tf.get_default_graph()
        self._inner = FuncGraph(f"input_{ops.uid()}")
        self._specs = specs
        self._within = ExitStack()
        self.inputs: list[tf.Tensor] = []
        self.outputs: list[tf.Tensor] = []

    def __enter__(self) -> "Function":
        self._within.enter_context(self._inner.as_default())
        self._within.enter_context(tf.device(None))
        self.inputs = [tf.placeholder(spec.dtype, spec.shape) for spec in self._specs]
        self._inner.inputs = list(self.inputs)
        return self

    def __exit__(self, *exception: Any) -> None:
        self._within.__exit__(*exception)

    def copy(
        self,
        wanted: Sequence[tf.Tensor],
        known: Mapping[Any, tf.Tensor],
        done: Collection[tf.Operation],
        outside: Collection[tf.Operation],
    ) -> list[tf.Tensor]:
        """Copy the operations behind ``wanted``; ``known`` are values of ``done`` they may need."""
        until = {*done, *outside}
        needed = ancestors((tensor.op for tensor in wanted), until) - until
        used = {t.ref(): t for operation in needed for t in operation.inputs if t.op in until}
        mapping = {
            tensor.name: self.capture(tensor) if tensor.op in outside else known[reference]
            for reference, tensor in used.items()
        }
        inside = [tensor for tensor in wanted if tensor.op not in until]
        copies = iter(_copied(self._outer, needed, mapping, inside))
        return [self.capture(t) if t.op in outside else next(copies) for t in wanted]

    def capture(self, tensor: tf.Tensor) -> tf.Tensor:
        """Return the input that represents a tensor of the outer graph."""
        return self._inner.capture(tensor)

    def map(self, variant: tf.Tensor, *, ordered: bool) -> tf.Tensor:
        """Return the dataset ``variant`` with the function applied to each element."""
        self._inner.outputs = self.outputs
        function = atomic_function.from_func_graph(self._inner.name, self._inner, {})
        self._outer._add_function_recursive(function)
        arguments = {
            "input_dataset": variant,
            "other_arguments": self._inner.external_captures,
            "f": self._inner.name,
            "output_types": [tensor.dtype for tensor in self.outputs],
            "output_shapes": [tensor.shape for tensor in self.outputs],
            # An "out of range" error here ends the data, as it would in a session.
            "preserve_cardinality": False,
        }
        if ordered:
            return tf.raw_ops.MapDataset(**arguments)
        calls = tf.constant(_AS_MANY_AS_USEFUL, tf.int64)
        return tf.raw_ops.ParallelMapDatasetV2(
            **arguments, num_parallel_calls=calls, deterministic="true"
        )


def _spec(tensor: tf.Tensor) -> tf.TensorSpec:
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _copied(
    graph: tf.Graph,
    needed: Collection[tf.Operation],
    mapping: dict[str, tf.Tensor],
    wanted: Sequence[tf.Tensor],
) -> list[tf.Tensor]:
    """Copy operations into the current graph; return the copies of ``wanted``."""
    names = [tensor.name for tensor in wanted]
    definition = _definition(graph, needed)
    copies = tf.import_graph_def(definition, input_map=mapping, return_elements=names, name="")
    for copy, original in zip(copies, wanted, strict=True):
        copy.set_shape(original.shape)
    return list(copies)


def _definition(graph: tf.Graph, operations: Collection[tf.Operation]) -> tf.GraphDef:
    """Return the definition of operations, without devices and without other operations."""
    definition = tf.GraphDef(versions=graph.graph_def_versions)
    here = {operation.name for operation in operations}
    for operation in sorted(operations, key=lambda operation: operation._id):
        node = definition.node.add()
        node.CopyFrom(operation.node_def)
        node.device = ""
        node.attr.pop("_class", None)  # a colocation with operations that may be missing
        node.input[:] = [name for name in node.input if name[0] != "^" or name[1:] in here]
    definition.library.function.extend(functions_of(graph, definition.node).values())
    return definition


_GIVEN_DATA = ("Iterator", "IteratorV2")


def obstacle_of(pulls: Sequence[tf.Operation]) -> str | None:
    """Return the reason why the data of the iterators cannot be read, or None."""
    iterators = [pull.inputs[0].op for pull in pulls]
    if len(set(iterators)) < len(iterators):
        return "get_next() is called twice"
    return next(filter(None, map(_obstacle, iterators)), None)


def data_of(pull: tf.Operation) -> tf.Tensor:
    """Return the dataset that ``pull`` reads from, if ``obstacle_of`` has returned None."""
    iterator = pull.inputs[0].op
    if iterator.type != "OneShotIterator":
        return _initializers(iterator)[0].inputs[0]
    lists = tf.AttrValue.ListValue
    attributes = {
        "Tin": tf.AttrValue(list=lists()),
        "Tout": tf.AttrValue(list=lists(type=[tf.variant.as_datatype_enum])),
        "f": iterator.node_def.attr["dataset_factory"],
    }
    graph = tf.get_default_graph()
    call = graph.create_op("StatefulPartitionedCall", [], [tf.variant], attrs=attributes)
    return call.outputs[0]


def initializers_of(pulls: Sequence[tf.Operation]) -> list[tf.Operation]:
    """Return the initializers of the iterators, for those that have exactly one."""
    found = [_initializers(pull.inputs[0].op) for pull in pulls]
    return [made[0] for made in found if len(made) == 1]


def initializers_in(graph: tf.Graph) -> dict[str, int]:
    """Return the number of initializers of every iterator that needs one, by its name."""
    return {
        operation.name: len(_initializers(operation))
        for operation in graph.get_operations()
        if operation.type in _GIVEN_DATA
    }


def _initializers(iterator: tf.Operation) -> list[tf.Operation]:
    consumers = iterator.outputs[0].consumers()
    return [operation for operation in consumers if operation.type == "MakeIterator"]


def _obstacle(iterator: tf.Operation) -> str | None:
    if iterator.type == "OneShotIterator":
        return None
    if iterator.type not in _GIVEN_DATA:
        return f"the iterator is a {iterator.type}"
    made = _initializers(iterator)
    if len(made) != 1:
        return f"the iterator '{iterator.name}' has {len(made)} initializers"
    for operation in ancestors([made[0].inputs[0].op]):
        if operation.type in PLACEHOLDERS:
            return f"the data of the iterator wait for the placeholder '{operation.name}'"
    return None
