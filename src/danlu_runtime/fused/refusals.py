"""Reasons why steps cannot be fused, and the choice between running with and without XLA."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.messages import get_message
from danlu_runtime.fused.step_values import find_step_ops
from danlu_runtime.reports.notes import print_message

_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc", "DatasetFromGenerator")
_FILLED = ("LookupTableImport", "LookupTableInsert", "LookupTableRemove", "InitializeTable")
_STAGES = ("Stage", "Unstage", "MapStage", "MapUnstage", "OrderedMap", "Barrier", "Reader")


def why_not(op: tf.Operation | tf.Tensor, values: Sequence[tf.Tensor]) -> str | None:
    """Return the reason why several steps of ``op`` cannot run in one call, or None if they can.

    The graph is not changed.
    """
    if isinstance(op, tf.Tensor):
        op = op.op
    if not isinstance(op, tf.Operation):
        return get_message("fused.no_operation", name__=type(op).__name__)
    for value in values:
        if not isinstance(value, tf.Tensor):
            return get_message("fused.no_tensor", name__=type(value).__name__)
        if value.graph is not op.graph:
            return get_message("fused.other_graph", name=value.name)
    both = find_step_ops([op, *values])
    found = [*both.outside, *both.inside]
    for each in found:
        reason = _of_kind(each.type, each.name) or _of_types(each)
        if reason is not None:
            return reason
    return _of_functions(op.graph, found) or _of_devices(found) or _of_frames(op, values)


def _of_kind(kind: str, name: str) -> str | None:
    if kind in _PYTHON:
        return get_message("fused.python", name=name, kind=kind)
    if kind == "Placeholder":
        return get_message("fused.placeholder", name=name)
    if kind.startswith("Queue") or kind.endswith(("Queue", "QueueV2")):
        return get_message("fused.queue", name=name, kind=kind)
    if kind.startswith(_STAGES):
        return get_message("fused.keeps", name=name, kind=kind)
    if kind.startswith(_FILLED):
        return get_message("fused.table", name=name, kind=kind)
    if kind.startswith("Collective") or kind in ("NcclAllReduce", "_Send", "_Recv"):
        return get_message("fused.waits", name=name, kind=kind)
    return None


def _of_types(operation: tf.Operation) -> str | None:
    """Return the reason if an operation uses a reference variable or table.

    References are the variables and tables of early TensorFlow versions. A loop would copy them.
    """
    if operation.type in ("Variable", "VariableV2", "TemporaryVariable"):
        return get_message("fused.reference", name=operation.name)
    for tensor in (*operation.outputs, *operation.inputs):
        if tensor.dtype._is_ref_dtype:
            return get_message("fused.works_on_reference", name=operation.name, type=operation.type)
    return None


def _of_functions(graph: tf.Graph, operations: Iterable[tf.Operation]) -> str | None:
    """Check the functions that are called, including those called indirectly."""
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
    yield node.op  # a function may be called like an operation
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
            return get_message(
                "fused.two_processes",
                name=first[1].name,
                first=first[0],
                name2=each.name,
                place=place,
            )
    return None


def _process(device: str) -> str:
    """Return ``/job:x/task:n`` of a device, or the part of it that the device names."""
    spec = tf.DeviceSpec.from_string(device) if device else None
    if spec is None or spec.job in (None, "localhost"):
        return ""
    return f"/job:{spec.job}" + (f"/task:{spec.task}" if spec.task is not None else "")


def _of_frames(op: tf.Operation, values: Sequence[tf.Tensor]) -> str | None:
    for fetched in (op, *(value.op for value in values)):
        if not fetched.graph.is_fetchable(fetched):
            return get_message("fused.partial", name=fetched.name)
    return None


VARIABLE = "DANLU_XLA"
FILE = "danlu-steps.json"
_WORDS = {"1": True, "0": False, "": False}


def is_asked() -> bool:
    """Return True if the environment variable asks for XLA.

    Raises:
        SystemExit: the value is neither 1 nor 0.
    """
    text = os.environ.get(VARIABLE, "")
    if text not in _WORDS:
        raise SystemExit(get_message("fused.variable", variable=VARIABLE, text=text))
    return _WORDS[text]


def chosen(folder: str, *, has_checkpoint: bool) -> bool:
    """Return True if the training in ``folder`` uses XLA: as it began, else as requested.

    A resumed training keeps its mode, because its numbers would change in the last digits.
    """
    asked = is_asked()
    began = _read(folder) if has_checkpoint else None
    if began is None or began == asked:
        return asked
    print_message(get_message("fused.goes_on_with" if began else "fused.goes_on_without"))
    return began


def keep(folder: str, xla: bool) -> None:
    """Record atomically whether the training in ``folder`` uses XLA.

    The folder may be a URL, like that of checkpoints, because TensorFlow writes the file.
    """
    tf.gfile.MakeDirs(folder)
    path = os.path.join(folder, FILE)
    with tf.gfile.GFile(f"{path}.new", "w") as file:
        file.write(json.dumps({"xla": xla}))
    tf.gfile.Rename(f"{path}.new", path, overwrite=True)


def _read(folder: str) -> bool | None:
    try:
        with tf.gfile.GFile(os.path.join(folder, FILE)) as file:
            return bool(json.loads(file.read())["xla"])
    except (tf.errors.OpError, ValueError, KeyError, TypeError):
        return None


_CALLS = 4  # measured calls of each mode; the first call of each also sets it up
_STEPS = 8  # maximum number of steps of a measured call
# Fraction of the compiled time below which XLA is dropped. A few calls are no exact measure.
_CLEARLY = 0.67


class XlaBenchmark:
    """Measures a few compiled and a few uncompiled calls, then selects the faster mode.

    XLA fuses small operations, but is many times slower with convolutions on a CPU.
    """

    def __init__(self) -> None:
        self._taken: dict[bool, list[float]] = {True: [], False: []}
        self.compiles = True

    @property
    def is_over(self) -> bool:
        return len(self._taken[False]) == _CALLS

    def limit(self, steps: int) -> int:
        """Return the number of steps for the next call, at most ``steps``."""
        return steps if self.is_over else min(steps, _STEPS)

    def took(self, steps: int, seconds: float) -> str | None:
        """Record a call; return the reason if steps are not compiled from now on."""
        if self.is_over or steps < 2:  # a single step is never compiled
            return None
        self._taken[self.compiles].append(seconds / steps)
        if self.compiles:
            self.compiles = len(self._taken[True]) < _CALLS
            return None
        if not self.is_over:
            return None
        with_xla, without = (min(self._taken[way][1:]) for way in (True, False))
        self.compiles = without > _CLEARLY * with_xla
        if self.compiles:
            return None
        return get_message("fused.slower", with_xla=with_xla * 1000, without=without * 1000)
