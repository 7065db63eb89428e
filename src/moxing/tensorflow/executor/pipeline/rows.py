"""Operations that give the same bits for a whole batch as for its elements one by one.

Copying values, and what IEEE 754 rounds in one way only: not the functions like exp, whose last
bit depends on how many values a processor takes at once. For each operation there is what it
needs for that, and how it is written for a batch.
"""

from collections.abc import Collection, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

_ONE = frozenset({"Cast", "Identity", "StopGradient", "Neg", "Abs", "Sign", "Square", "Floor"})
_ONE |= {"Ceil", "LogicalNot", "AsString", "DecodeRaw", "StringLength", "StringToNumber"}
_ONE |= {"StringToHashBucket", "StringToHashBucketFast", "OneHot"}
_TWO = frozenset({"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Equal"})
_TWO |= {"NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr"}
_SHAPES = frozenset({"Reshape", "ExpandDims", "Squeeze"})
_DRAWN = frozenset({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"})
# Those that name axes, and how many of their inputs are data: the rest are the axes.
_AXES = {"Pack": None, "ConcatV2": -1, "Transpose": 1}
# Computed in another type and rounded: when, is the processor's choice.
_UNEVEN = (tf.float16, tf.bfloat16, tf.complex64, tf.complex128)


def goes_by_batches(operation: tf.Operation, moving: Collection[tf.Operation]) -> bool:
    """Say whether an operation may be given a batch; ``moving`` differ from element to element."""
    moved = [tensor.op in moving for tensor in operation.inputs]
    if operation.control_inputs or any(t.dtype in _UNEVEN for t in operation.outputs):
        return False
    if operation.type in _DRAWN:  # without a seed: those with one are not asked about
        return not any(moved) and operation.outputs[0].shape.is_fully_defined()
    if operation.type in _TWO:
        return _broadcasts_alike(operation.inputs, moved)
    if operation.type in _SHAPES:
        return operation.outputs[0].shape.is_fully_defined() and not any(moved[1:])
    if operation.type in _AXES:
        return all(moved[: _AXES[operation.type]]) and _axis(operation) is not None
    if operation.type == "GatherV2":
        return moved == [False, True, False] and _by_rows(operation)
    if operation.type == "LookupTableFindV2":
        return moved == [False, True, False] and operation.inputs[2].shape.rank == 0
    return operation.type in _ONE and not any(moved[1:]) and _at_the_end(operation)


def for_a_batch(
    operation: tf.Operation, inputs: Sequence[tf.Tensor], size: int
) -> Sequence[tf.Tensor]:
    """Write an operation for batches of ``size`` into the graph of now."""
    if operation.type in _SHAPES:
        return [tf.reshape(inputs[0], [size, *operation.outputs[0].shape])]
    if operation.type in _DRAWN:
        shape = tf.constant([size, *operation.outputs[0].shape.as_list()], inputs[0].dtype)
        inputs = [shape, *inputs[1:]]
    if operation.type in _AXES:
        return [_along_axes(operation, inputs)]
    return _again(operation, inputs)


def _along_axes(operation: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
    axis = _axis(operation)
    if operation.type == "Transpose":
        return tf.transpose(inputs[0], [0, *(axis + 1)])
    later = int(axis) + (axis >= 0)  # one below zero is counted from the end
    if operation.type == "Pack":
        return tf.stack(list(inputs), later)
    return tf.concat(list(inputs[:-1]), later)


def _axis(operation: tf.Operation) -> Any:
    if operation.type == "Pack":
        return operation.get_attr("axis")
    return tf.get_static_value(operation.inputs[-1])


def _again(operation: tf.Operation, inputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    kept = {name: v for name, v in operation.node_def.attr.items() if not name.startswith("_")}
    types = [tensor.dtype for tensor in operation.outputs]
    graph: Any = tf.get_default_graph()
    written = graph.create_op(operation.type, list(inputs), types, attrs=kept, name=operation.name)
    return list(written.outputs)


def _broadcasts_alike(inputs: Sequence[tf.Tensor], moved: Sequence[bool]) -> bool:
    one, other = (tensor.shape for tensor in inputs)
    if all(moved):
        return one.is_fully_defined() and one == other
    large, small = (one, other) if moved[0] else (other, one)
    if small.rank == 0:
        return True
    known = large.is_fully_defined() and small.is_fully_defined()
    return known and small.rank <= large.rank and tf.broadcast_static_shape(large, small) == large


def _by_rows(gather: tf.Operation) -> bool:
    return tf.get_static_value(gather.inputs[2]) == 0 and gather.get_attr("batch_dims") == 0


def _at_the_end(operation: tf.Operation) -> bool:
    return operation.type != "OneHot" or operation.get_attr("axis") == -1
