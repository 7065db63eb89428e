"""The operations that run when a step is fetched: what is copied, and what stays outside."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

# Bytes; a larger constant is not copied. A copy costs less than a value that enters the loop.
_LARGE = 1 << 16


@dataclass(frozen=True)
class Behind:
    """``inside`` runs anew in every step; of ``outside`` there is one for all steps."""

    inside: tuple[tf.Operation, ...]
    outside: tuple[tf.Operation, ...]


def behind(fetches: Sequence[Any], but: Container[tf.Operation] = ()) -> Behind:
    """Return all operations that run when ``fetches`` do, in the order they were made.

    ``but``: these, and what only they need, are left out.
    """
    inside: set[tf.Operation] = set()
    outside: set[tf.Operation] = set()
    todo = [getattr(fetch, "op", fetch) for fetch in fetches]
    while todo:
        current = todo.pop()
        if current in inside or current in outside or current in but:
            continue
        if stays_outside(current):
            outside.add(current)
        else:
            inside.add(current)
            todo.extend(inputs_of(current))
    return Behind(_in_order(inside), _in_order(outside))


def inputs_of(operation: tf.Operation) -> Iterable[tf.Operation]:
    for tensor in operation.inputs:
        yield tensor.op
    yield from operation.control_inputs


def stays_outside(operation: tf.Operation) -> bool:
    """Tell what holds state for all steps (its handle is a source), or may be fed."""
    if operation.type == "PlaceholderWithDefault":
        return True
    if operation.inputs or not operation.outputs:
        return False
    if operation.type == "Const":
        return _size(operation.outputs[0]) > _LARGE
    return all(each.dtype == tf.resource for each in operation.outputs)


def _size(constant: tf.Tensor) -> int:
    if constant.dtype == tf.string or not constant.shape.is_fully_defined():
        return 0
    return int(constant.shape.num_elements()) * int(constant.dtype.size)


def _in_order(operations: Iterable[tf.Operation]) -> tuple[tf.Operation, ...]:
    return tuple(sorted(operations, key=lambda each: each._id))
