"""Copies a part of the graph into a function, and maps it over a dataset."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import tensorflow.compat.v1 as tf
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

from moxing.tensorflow.executor.pipeline.graph import ancestors, functions_of

_AS_MANY_AS_USEFUL = -1


class Flow(NamedTuple):
    """A dataset: its elements are the values of ``tensors``, made by the operations ``done``.

    If ``batched``, they are batches of such values.
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

    ``done`` are the operations that have then been evaluated; ``outside`` stay in the graph. The
    elements keep their order; if ``ordered``, one is finished before the next is begun.
    """
    with Function([_spec(tensor) for tensor in flow.tensors]) as function:
        known = {t.ref(): i for t, i in zip(flow.tensors, function.inputs, strict=True)}
        missing = [tensor for tensor in wanted if tensor.op not in flow.done]
        copies = function.copy(missing, known, flow.done, outside)
        known |= {t.ref(): copy for t, copy in zip(missing, copies, strict=True)}
        function.outputs = [known[tensor.ref()] for tensor in wanted]
    return Flow(function.map(flow.variant, ordered=ordered), wanted, done)


class Function:
    """A function being written, in a ``with``: the graph of now is then its own.

    tf.data's own wrapper would order stateful operations by control edges, which would kill what
    stands after an operation in the branch of a cond of TensorFlow 1 that is not taken.
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
        """Copy what makes ``wanted``; ``known`` are the values of ``done`` that it may need."""
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
        """Return what stands for a tensor of the graph outside."""
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
            # What says "out of range" here ends the data, as it would in a session.
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
    """Copy operations into the graph of now; return the copies of ``wanted``."""
    names = [tensor.name for tensor in wanted]
    definition = _definition(graph, needed)
    copies = tf.import_graph_def(definition, input_map=mapping, return_elements=names, name="")
    for copy, original in zip(copies, wanted, strict=True):
        copy.set_shape(original.shape)
    return list(copies)


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
