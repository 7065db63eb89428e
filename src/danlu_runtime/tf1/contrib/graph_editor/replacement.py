"""Copies of a part of the graph in which some tensors are replaced."""

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.contrib.graph_editor.walks import get_walks_intersection_ops


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Any, Any],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Return the targets as they would be with other tensors in place of some.

    Only what lies between is copied; variables and all else are shared with the original.
    """
    pairs = [
        (_tensor(old), tf.convert_to_tensor(new))
        for old, new in (
            (key.deref() if hasattr(key, "deref") else key, value)
            for key, value in replacement_ts.items()
        )
    ]
    targets = tf.nest.map_structure(_tensor, target_ts)
    flat = tf.nest.flatten(targets)
    replaced = {old.name: new for old, new in pairs}
    between = get_walks_intersection_ops([old for old, _ in pairs], [t.op for t in flat])
    copied = {op.name for op in between}
    if not copied and not any(t.name in replaced for t in flat):
        raise ValueError("Targets and replacements are not connected!")
    graph = flat[0].graph
    part, inputs = _part(between, replaced, graph)
    wanted = [t.name for t in flat if t.op.name in copied and t.name not in replaced]
    made = tf.import_graph_def(
        part, input_map=inputs, return_elements=wanted, name=dst_scope or "graph_replace"
    )
    by_name = dict(zip(wanted, made, strict=True))
    results = [replaced.get(t.name, by_name.get(t.name, t)) for t in flat]
    for old, new in zip(flat, results, strict=True):
        new.set_shape(old.shape)
    return tf.nest.pack_sequence_as(targets, results)


def _part(
    ops: list[tf.Operation], replaced: dict[str, tf.Tensor], graph: tf.Graph
) -> tuple[tf.GraphDef, dict[str, tf.Tensor]]:
    """Return the operations as a graph of their own, and what its open ends are tied to."""
    names = {op.name for op in ops}
    part = tf.GraphDef()
    part.versions.CopyFrom(graph.as_graph_def().versions)
    part.library.CopyFrom(graph.as_graph_def().library)
    inputs: dict[str, tf.Tensor] = {}
    for op in ops:
        node = part.node.add()
        node.CopyFrom(op.node_def)
        # Copies run apart from the original: its order of side effects is not theirs.
        kept = [name for name in node.input if not name.startswith("^") or name[1:] in names]
        del node.input[:]
        node.input.extend(kept)
        # The imported part is placed anew; a colocation may name what was not copied.
        if "_class" in node.attr:
            del node.attr["_class"]
        for place, tensor in enumerate(op.inputs):
            source = replaced.get(tensor.name)
            if source is not None or tensor.op.name not in names:
                end = f"{tensor.op.name}__open_{tensor.value_index}"
                node.input[place] = f"{end}:0"
                inputs[f"{end}:0"] = tensor if source is None else source
    for end, tensor in inputs.items():
        node = part.node.add(name=end.removesuffix(":0"), op="Placeholder")
        node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    return part, inputs


def _tensor(value: Any) -> tf.Tensor:
    return value if isinstance(value, tf.Tensor) else tf.convert_to_tensor(value)
