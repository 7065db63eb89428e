"""Runs a part of a graph as a tf.data transformation."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from moxing.tensorflow.executor.pipeline_graph import Reading, ancestors, functions_of

_AS_MANY_AS_USEFUL = -1


class Flow(NamedTuple):
    """A dataset, and the tensors of the graph its elements are the values of."""

    variant: tf.Tensor
    tensors: list[tf.Tensor]


def staged(flow: Flow, reading: Reading, wanted: Sequence[tf.Tensor]) -> Flow:
    """Lead ``flow`` through all that lies between it and ``wanted``."""
    wanted = list(wanted)
    if [tensor.name for tensor in flow.tensors] == [tensor.name for tensor in wanted]:
        return flow
    return _stage(flow, reading, wanted, ordered=bool(reading.ordered))


def _stage(flow: Flow, reading: Reading, wanted: list[tf.Tensor], *, ordered: bool) -> Flow:
    function, captured = _function(flow.tensors, reading, wanted)
    arguments = {
        "input_dataset": flow.variant,
        "other_arguments": captured,
        "f": function,
        "output_types": [tensor.dtype for tensor in wanted],
        "output_shapes": [tensor.shape for tensor in wanted],
        # What says "out of range" here ends the data, as it would in a session.
        "preserve_cardinality": False,
    }
    if ordered:
        return Flow(tf.raw_ops.MapDataset(**arguments), wanted)
    calls = tf.constant(_AS_MANY_AS_USEFUL, tf.int64)
    parallel = tf.raw_ops.ParallelMapDatasetV2(
        **arguments, num_parallel_calls=calls, deterministic="true"
    )
    return Flow(parallel, wanted)


def _function(
    given: Sequence[tf.Tensor], reading: Reading, wanted: Sequence[tf.Tensor]
) -> tuple[str, list[tf.Tensor]]:
    """Define a function from ``given`` to ``wanted``; return its name and what it captures.

    tf.data's own wrapper would order stateful operations by control edges, which would kill what
    stands after an operation in the branch of a cond of TensorFlow 1 that is not taken.
    """
    graph = tf.get_default_graph()
    inner = FuncGraph(f"input_{ops.uid()}")
    with inner.as_default():
        inner.inputs = [tf.placeholder(tensor.dtype, tensor.shape) for tensor in given]
        known = dict(zip([tensor.ref() for tensor in given], inner.inputs, strict=True))
        for operation in reading.outside:
            known |= {tensor.ref(): inner.capture(tensor) for tensor in operation.outputs}
        inner.outputs = _copied(known, wanted)
    function = atomic_function.from_func_graph(inner.name, inner, {})
    graph._add_function_recursive(function)
    return inner.name, inner.external_captures


def _copied(known: dict[Any, tf.Tensor], wanted: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Copy what makes ``wanted`` into the current graph, where ``known`` stand for the rest."""
    there = {reference.deref().op for reference in known}
    missing = [tensor for tensor in wanted if tensor.ref() not in known]
    copied = tf.import_graph_def(
        _definition(ancestors([tensor.op for tensor in missing], until=there) - there),
        input_map={reference.deref().name: tensor for reference, tensor in known.items()},
        return_elements=[tensor.name for tensor in missing],
        name="",
    )
    for tensor, original in zip(copied, missing, strict=True):
        tensor.set_shape(original.shape)
    found = {**known, **dict(zip([tensor.ref() for tensor in missing], copied, strict=True))}
    return [found[tensor.ref()] for tensor in wanted]


def _definition(operations: set[tf.Operation]) -> tf.GraphDef:
    """Write operations down, free of devices and of all that is not among them."""
    definition = tf.GraphDef()
    names = {operation.name for operation in operations}
    for operation in sorted(operations, key=lambda operation: operation._id):
        node = definition.node.add()
        node.CopyFrom(operation.node_def)
        node.device = ""
        node.attr.pop("_class", None)  # colocation with what may not be here
        for place in reversed(range(len(node.input))):
            if node.input[place][0] == "^" and node.input[place][1:] not in names:
                del node.input[place]
        graph = operation.graph
    if operations:
        definition.versions.CopyFrom(graph.graph_def_versions)
        functions = functions_of(graph, definition.node)
        definition.library.function.extend(functions.values())
    return definition
