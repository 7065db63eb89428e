"""tf.contrib.graph_editor: walks through a graph, and copies with replaced tensors."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

# Walks along the edges of a graph, and what is selected by name.


Test = Callable[[tf.Operation], bool]


def make_list_of_op(ops: Any, ignore_ts: bool = False) -> list[tf.Operation]:
    """Return operations as a list: of a graph, of one, or of several (tensors on request)."""
    if isinstance(ops, tf.Graph):
        return ops.get_operations()
    each = list(ops) if isinstance(ops, Iterable) and not isinstance(ops, tf.Tensor) else [ops]
    found = []
    for op in each:
        if isinstance(op, tf.Tensor) and not ignore_ts:
            raise TypeError(f"Expected an Operation, got the tensor {op.name}.")
        if isinstance(op, tf.Operation):
            found.append(op)
    return found


def make_list_of_t(ts: Any, ignore_ops: bool = False) -> list[tf.Tensor]:
    """Return tensors as a list: of a graph, of one, or of several (operations left out)."""
    if isinstance(ts, tf.Graph):
        return [t for op in ts.get_operations() for t in op.outputs]
    each = list(ts) if isinstance(ts, Iterable) and not isinstance(ts, tf.Tensor) else [ts]
    found = []
    for t in each:
        if isinstance(t, tf.Operation) and not ignore_ops:
            raise TypeError(f"Expected a Tensor, got the operation {t.name}.")
        if isinstance(t, tf.Tensor):
            found.append(t)
        elif isinstance(t, tf.Variable):
            found.append(tf.convert_to_tensor(t))
    return found


def get_tensors(graph: tf.Graph) -> list[tf.Tensor]:
    """Return every tensor of a graph."""
    return make_list_of_t(graph)


def get_generating_ops(ts: Any) -> list[tf.Operation]:
    """Return the operations that make the tensors."""
    return [t.op for t in make_list_of_t(ts)]


def get_consuming_ops(ts: Any) -> list[tf.Operation]:
    """Return the operations that read the tensors, each once."""
    return list(dict.fromkeys(op for t in make_list_of_t(ts) for op in t.consumers()))


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Collection[tf.Operation] | None = None,
    within_ops_fn: Test | None = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[tf.Operation]:
    """Return what the seeds depend on, in the order of the walk."""
    stops = {t.ref() for t in make_list_of_t(stop_at_ts)}

    def before(op: tf.Operation) -> list[tf.Operation]:
        ops = [t.op for t in op.inputs if t.ref() not in stops]
        return ops + list(op.control_inputs) if control_inputs else ops

    each = list(seed_ops) if isinstance(seed_ops, (list, tuple, set)) else [seed_ops]
    kept = [s for s in each if not (isinstance(s, tf.Tensor) and s.ref() in stops)]
    seeds = [seed.op if isinstance(seed, tf.Tensor) else seed for seed in kept]
    return _walk(seeds, before, inclusive, within_ops, within_ops_fn)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Collection[tf.Operation] | None = None,
    within_ops_fn: Test | None = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[tf.Operation]:
    """Return what depends on the seeds, in the order of the walk."""
    stops = {t.ref() for t in make_list_of_t(stop_at_ts)}

    def after(op: tf.Operation) -> list[tf.Operation]:
        ops = [user for t in op.outputs if t.ref() not in stops for user in t.consumers()]
        return ops + list(op._control_outputs) if control_outputs else ops

    each = list(seed_ops) if isinstance(seed_ops, (list, tuple, set)) else [seed_ops]
    seeds: list[tf.Operation] = []
    for seed in each:
        # A tensor begins with those who read it, as in TensorFlow 1.15.
        seeds += seed.consumers() if isinstance(seed, tf.Tensor) else [seed]
    return _walk(seeds, after, inclusive, within_ops, within_ops_fn)


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Collection[tf.Operation] | None = None,
    within_ops_fn: Test | None = None,
    control_inputs: bool = False,
) -> list[tf.Operation]:
    """Return the operations between two sets: after the one and before the other."""
    forward = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn)
    backward = set(
        get_backward_walk_ops(
            backward_seed_ops,
            backward_inclusive,
            within_ops,
            within_ops_fn,
            control_inputs=control_inputs,
        )
    )
    return [op for op in forward if op in backward]


def filter_ops(ops: Any, positive_filter: Any = None) -> list[tf.Operation]:
    """Return the operations that a function keeps."""
    found = make_list_of_op(ops)
    return found if positive_filter in (None, True) else [op for op in found if positive_filter(op)]


def filter_ts(ops: Any, positive_filter: Any = None) -> list[tf.Tensor]:
    """Return the outputs of operations that a function keeps."""
    tensors = [t for op in make_list_of_op(ops) for t in op.outputs]
    return (
        tensors if positive_filter in (None, True) else [t for t in tensors if positive_filter(t)]
    )


def filter_ops_from_regex(ops: Any, regex: str) -> list[tf.Operation]:
    """Return the operations whose name matches."""
    return filter_ops(ops, lambda op: re.search(regex, op.name))


def filter_ts_from_regex(ops: Any, regex: str) -> list[tf.Tensor]:
    """Return the outputs of operations whose own operation's name matches."""
    return filter_ts(ops, lambda t: re.search(regex, t.op.name))


def select_ops(*patterns: str, graph: tf.Graph | None = None) -> list[tf.Operation]:
    """Return the operations of a graph whose names match, pattern by pattern."""
    graph = graph or tf.get_default_graph()
    found = [op for pattern in patterns for op in filter_ops_from_regex(graph, pattern)]
    return list(dict.fromkeys(found))


def select_ts(*patterns: str, graph: tf.Graph | None = None) -> list[tf.Tensor]:
    """Return the tensors of a graph whose names match, pattern by pattern."""
    graph = graph or tf.get_default_graph()
    return [t for pattern in patterns for t in make_list_of_t(graph) if re.search(pattern, t.name)]


def _walk(
    seeds: list[tf.Operation],
    following: Callable[[tf.Operation], list[tf.Operation]],
    inclusive: bool,
    within_ops: Collection[tf.Operation] | None,
    within_ops_fn: Test | None,
) -> list[tf.Operation]:
    allowed = None if within_ops is None else set(make_list_of_op(within_ops))

    def inside(op: tf.Operation) -> bool:
        return (allowed is None or op in allowed) and (within_ops_fn is None or within_ops_fn(op))

    found = dict.fromkeys(op for op in seeds if inside(op))
    wave = list(found)
    while wave:
        wave = [op for seen in wave for op in following(seen) if op not in found and inside(op)]
        wave = list(dict.fromkeys(wave))
        found.update(dict.fromkeys(wave))
    return list(found) if inclusive else [op for op in found if op not in set(seeds)]


# Copies of a part of the graph in which some tensors are replaced.


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


_COPY = "removed.graph_editor"
GONE = dict.fromkeys(
    (
        "SubGraphView",
        "Transformer",
        "bypass",
        "connect",
        "copy",
        "copy_with_input_replacements",
        "detach",
        "make_view",
        "reroute_ts",
        "sgv",
        "swap_ts",
    ),
    _COPY,
)
