"""What ``tf.contrib.framework`` did with whole graphs."""

from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.framework.graph_util_impl import (
    _assert_nodes_are_present,
    _bfs_for_reachable_nodes,
    _extract_graph_summary,
    _node_name,
)


def get_placeholders(graph: tf.Graph) -> list[tf.Tensor]:
    """Return the placeholders of a graph in the order they were made."""
    if not isinstance(graph, tf.Graph):
        raise TypeError(f"Input graph needs to be a Graph: {graph}")
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]


def fuse_op(
    graph_def: Any,
    input_nodes: Sequence[str],
    output_nodes: Sequence[str],
    output_dtypes: Sequence[Any],
    output_quantized: bool,
    op_name: str,
    op_type: str,
) -> Any:
    """Return a copy of a graph with all between two sets of nodes made one custom operation.

    The nodes after the outputs stay; the outputs take what the new operation gives.
    """
    if not isinstance(graph_def, tf.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    for name, nodes in (("input_nodes", input_nodes), ("output_nodes", output_nodes)):
        if isinstance(nodes, str):
            raise TypeError(f"{name} must be a list.")
    inputs_of, by_name, order = _extract_graph_summary(graph_def)
    _assert_nodes_are_present(by_name, [*input_nodes, *output_nodes])
    before = _bfs_for_reachable_nodes(input_nodes, inputs_of)
    until = _bfs_for_reachable_nodes(output_nodes, inputs_of)
    names = [_node_name(node.name) for node in graph_def.node]
    for name in names:
        if name in until and name not in before and name not in output_nodes:
            _refuse_other_inputs(name, set(input_nodes), before, inputs_of)
    fused = tf.GraphDef()
    fused.node.extend(by_name[name] for name in sorted(before, key=order.__getitem__))
    fused.node.append(_custom(op_name, op_type, input_nodes, output_dtypes, output_quantized))
    for index, name in enumerate(output_nodes):
        fused.node.append(_fed_by(by_name[name], f"{op_name}:{index}" if index else op_name))
    fused.node.extend(by_name[n] for n in names if n not in until and n not in before)
    fused.library.CopyFrom(graph_def.library)
    fused.versions.CopyFrom(graph_def.versions)
    return fused


def _refuse_other_inputs(
    name: str, allowed: set[str], before: set[str], inputs_of: dict[str, list[str]]
) -> None:
    """What is to be fused may take nothing from before the inputs but through them."""
    waiting, seen = [name], set()
    while waiting:
        current = waiting.pop()
        seen.add(current)
        if current in allowed:
            continue
        if current in before:
            raise TypeError(f"Node {name} uses input {current} not in input_nodes.")
        waiting += [node for node in inputs_of[current] if node not in seen]


def _custom(
    name: str, kind: str, inputs: Sequence[str], dtypes: Sequence[Any], quantized: bool
) -> Any:
    node = tf.NodeDef(name=name, op=kind, input=inputs)
    node.attr["_output_types"].list.type[:] = dtypes
    node.attr["_output_quantized"].b = quantized
    return node


def _fed_by(node: Any, source: str) -> Any:
    if len(node.input) != 1:
        raise ValueError(f"Output node {node.name} must have one input, has {len(node.input)}.")
    copy = tf.NodeDef()
    copy.CopyFrom(node)
    copy.input[:] = [source]
    return copy
