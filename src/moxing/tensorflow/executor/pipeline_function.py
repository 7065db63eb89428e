"""Copies a part of the graph into a function, and maps it over a dataset."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from moxing.tensorflow.executor.pipeline_graph import ancestors, functions_of

_AS_MANY_AS_USEFUL = -1


class Flow(NamedTuple):
    """A dataset: its elements are the values of ``tensors``, made by the operations ``done``."""

    variant: tf.Tensor
    tensors: list[tf.Tensor]
    done: frozenset[tf.Operation]


def mapped(
    flow: Flow,
    wanted: list[tf.Tensor],
    done: frozenset[tf.Operation],
    outside: Collection[tf.Operation],
    *,
    ordered: bool,
) -> Flow:
    """Return a dataset of the values of ``wanted``.

    ``done`` are the operations that have then been evaluated; ``outside`` stay in the graph. The
    elements keep their order; if ``ordered``, one is finished before the next is begun.
    """
    function, captured = _function(flow, wanted, outside)
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
        return Flow(tf.raw_ops.MapDataset(**arguments), wanted, done)
    calls = tf.constant(_AS_MANY_AS_USEFUL, tf.int64)
    parallel = tf.raw_ops.ParallelMapDatasetV2(
        **arguments, num_parallel_calls=calls, deterministic="true"
    )
    return Flow(parallel, wanted, done)


def _function(
    flow: Flow, wanted: Sequence[tf.Tensor], outside: Collection[tf.Operation]
) -> tuple[str, list[tf.Tensor]]:
    """Define a function from one element to the next; return its name and what it captures.

    tf.data's own wrapper would order stateful operations by control edges, which would kill what
    stands after an operation in the branch of a cond of TensorFlow 1 that is not taken.
    """
    graph = tf.get_default_graph()
    missing = [tensor for tensor in wanted if tensor.op not in flow.done]
    until = {*flow.done, *outside}
    needed = ancestors((tensor.op for tensor in missing), until) - until
    inner = FuncGraph(f"input_{ops.uid()}")
    with inner.as_default():
        inner.inputs = [tf.placeholder(tensor.dtype, tensor.shape) for tensor in flow.tensors]
        known = {t.ref(): inside for t, inside in zip(flow.tensors, inner.inputs, strict=True)}
        used = {tensor.ref(): tensor for operation in needed for tensor in operation.inputs}
        for reference, tensor in used.items():
            if tensor.op in outside:
                known[reference] = inner.capture(tensor)
        mapping = {tensor.name: known[ref] for ref, tensor in used.items() if ref in known}
        known |= _copied(graph, needed, mapping, missing)
        inner.outputs = [known[tensor.ref()] for tensor in wanted]
    graph._add_function_recursive(atomic_function.from_func_graph(inner.name, inner, {}))
    return inner.name, inner.external_captures


def _copied(
    graph: tf.Graph,
    needed: Collection[tf.Operation],
    mapping: dict[str, tf.Tensor],
    wanted: Sequence[tf.Tensor],
) -> dict[Any, tf.Tensor]:
    """Copy operations into the graph of now; return the copies of ``wanted``."""
    names = [tensor.name for tensor in wanted]
    definition = _definition(graph, needed)
    copies = tf.import_graph_def(definition, input_map=mapping, return_elements=names, name="")
    for copy, original in zip(copies, wanted, strict=True):
        copy.set_shape(original.shape)
    return {original.ref(): copy for copy, original in zip(copies, wanted, strict=True)}


def _definition(graph: tf.Graph, operations: Collection[tf.Operation]) -> tf.GraphDef:
    """Write operations down, free of devices and of all that is not among them."""
    definition = tf.GraphDef(versions=graph.graph_def_versions)
    here = {operation.name for operation in operations}
    for operation in sorted(operations, key=lambda operation: operation._id):
        node = definition.node.add()
        node.CopyFrom(operation.node_def)
        node.device = ""
        node.attr.pop("_class", None)  # stands beside what may not be here
        node.input[:] = [name for name in node.input if name[0] != "^" or name[1:] in here]
    definition.library.function.extend(functions_of(graph, definition.node).values())
    return definition
