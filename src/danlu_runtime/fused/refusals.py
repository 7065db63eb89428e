"""What cannot be fused, each with its sentence."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.behind import behind

_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "DatasetFromGenerator")
_FILLED = ("LookupTableImport", "LookupTableInsert", "LookupTableRemove", "InitializeTable")
_STAGES = ("Stage", "Unstage", "MapStage", "MapUnstage", "OrderedMap", "Barrier", "Reader")


def why_not(op: tf.Operation | tf.Tensor, values: Sequence[tf.Tensor]) -> str | None:
    """Return why several steps of ``op`` cannot be made in one call, in a sentence; None: they can.

    Nothing is changed by asking.
    """
    if isinstance(op, tf.Tensor):
        op = op.op
    if not isinstance(op, tf.Operation):
        return f"What trains must be an operation to be fused, got {type(op).__name__}."
    for value in values:
        if not isinstance(value, tf.Tensor):
            return f"The values of a fused step must be tensors, got {type(value).__name__}."
        if value.graph is not op.graph:
            return f"The value {value.name!r} belongs to another graph than the step."
    both = behind([op, *values])
    found = [*both.outside, *both.inside]
    for each in found:
        reason = _of_kind(each.type, each.name) or _of_types(each)
        if reason is not None:
            return reason
    return _of_functions(op.graph, found) or _of_devices(found) or _of_frames(op, values)


def _of_kind(kind: str, name: str) -> str | None:
    if kind in _PYTHON:
        return f"{name!r} calls Python ({kind}), which is asked once in every step."
    if kind == "Placeholder":
        return f"The placeholder {name!r} is fed anew in every step."
    if kind.startswith("Queue") or kind.endswith(("Queue", "QueueV2")):
        return f"{name!r} works on a queue ({kind}), which other threads fill step by step."
    if kind.startswith(_STAGES):
        return f"{name!r} keeps values from step to step by itself ({kind})."
    if kind.startswith(_FILLED):
        return f"{name!r} changes a lookup table ({kind}) in the step itself."
    if kind.startswith("Collective") or kind in ("NcclAllReduce", "_Send", "_Recv"):
        return f"{name!r} waits for other processes ({kind}) in every step."
    return None


def _of_types(operation: tf.Operation) -> str | None:
    """References are the variables and tables of the first days; a loop would copy them."""
    if operation.type in ("Variable", "VariableV2", "TemporaryVariable"):
        return (
            f"{operation.name!r} is a reference variable; only resource variables "
            "(use_resource=True) can be trained in a loop."
        )
    for tensor in (*operation.outputs, *operation.inputs):
        if tensor.dtype._is_ref_dtype:
            return (
                f"{operation.name!r} works on a reference ({operation.type}); only resources "
                "can be used in a loop."
            )
    return None


def _of_functions(graph: tf.Graph, operations: Iterable[tf.Operation]) -> str | None:
    """Look into the functions that are called; what they call in turn is looked at too."""
    seen: set[str] = set()
    todo = [name for each in operations for name in _called(each.node_def)]
    while todo:
        name = todo.pop()
        if name in seen or not graph._is_function(name):
            continue
        seen.add(name)
        definition = graph._get_function(name).cached_definition
        for node in definition.node_def:
            reason = _of_kind(node.op, f"{name}/{node.name}")
            if reason is not None:
                return reason
            todo.extend(_called(node))
    return None


def _called(node: Any) -> Iterator[str]:
    yield node.op  # a function may be called as if it were an operation
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        for each in value.list.func:
            yield each.name


def _of_devices(operations: Iterable[tf.Operation]) -> str | None:
    first: tuple[str, tf.Operation] | None = None
    for each in operations:
        place = _process(each.device)
        if place and first is None:
            first = (place, each)
        elif first is not None and place not in ("", first[0]):
            return (
                f"The step works in two processes: {first[1].name!r} in {first[0]} and "
                f"{each.name!r} in {place}."
            )
    return None


def _process(device: str) -> str:
    """Return ``/job:x/task:n``, or what of it a device names."""
    spec = tf.DeviceSpec.from_string(device) if device else None
    if spec is None or spec.job in (None, "localhost"):
        return ""
    return f"/job:{spec.job}" + (f"/task:{spec.task}" if spec.task is not None else "")


def _of_frames(op: tf.Operation, values: Sequence[tf.Tensor]) -> str | None:
    for fetched in (op, *(value.op for value in values)):
        if not fetched.graph.is_fetchable(fetched):
            return f"{fetched.name!r} is a part of a loop or of a branch, not of every step."
    return None
