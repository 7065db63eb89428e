"""Copies of operations into another graph: that of a function."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf


def copied(
    operations: Sequence[tf.Operation],
    given: Mapping[tf.Tensor, tf.Tensor],
    wanted: Sequence[Any],
    *,
    keep_devices: bool = True,
    waits: bool = False,
) -> list[Any]:
    """Copy ``operations`` into the graph that is built now; return the copies of ``wanted``.

    ``waits``: it runs in a thread of its own, which may wait for data.

    ``given`` stands for tensors of operations that are not copied; what is waited for and not
    copied is taken to have happened.
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
            node.op = "IteratorGetNextSync"  # no other thread has to be woken for it
    names = [each.name for each in wanted if getattr(each, "op", each) in copies]
    found = iter(
        tf.import_graph_def(nodes, input_map=used, return_elements=names, name="step") or ()
    )
    return [next(found) if getattr(each, "op", each) in copies else given[each] for each in wanted]


def entered(tensors: Iterable[tf.Tensor]) -> dict[tf.Tensor, tf.Tensor]:
    """Return tensors of the graph around as those of the function that is built now."""
    graph = tf.get_default_graph()
    if not hasattr(graph, "capture"):
        return {each: each for each in tensors}
    return {each: graph.capture(each) for each in tensors}
