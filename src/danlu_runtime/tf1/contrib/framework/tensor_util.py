"""Checks on tensors: of their shape, now where it is known and at run time where it is not."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor  # noqa: F401
from tensorflow.python.ops.check_ops import assert_same_float_dtype, assert_scalar  # noqa: F401
from tensorflow.python.ops.confusion_matrix import (
    remove_squeezable_dimensions as _labels_first,
)

is_tensor = tf.is_tensor


def assert_scalar_int(tensor: Any, name: str | None = None) -> tf.Tensor:
    """Return the tensor, which must be 0-D and of an integer type."""
    with tf.name_scope(name, "assert_scalar_int", [tensor]) as scope:
        tensor = tf.convert_to_tensor(tensor)
        if not tensor.dtype.base_dtype.is_integer:
            raise ValueError(
                f"Expected integer type for {tensor.name}, received type: {tensor.dtype}."
            )
        return assert_scalar(tensor, name=scope)


def reduce_sum_n(tensors: Sequence[tf.Tensor], name: str | None = None) -> tf.Tensor:
    """Return the sum of all elements of all tensors."""
    if not tensors:
        raise ValueError("No tensors provided.")
    with tf.name_scope(name, "reduce_sum_n", tensors) as scope:
        sums = [tf.reduce_sum(tensor, name=f"{tensor.op.name}/sum") for tensor in tensors]
        return sums[0] if len(sums) == 1 else tf.add_n(sums, name=scope)


def remove_squeezable_dimensions(
    predictions: Any, labels: Any, name: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Drop the last dimension of the one that has one more; predictions come first here."""
    labels, predictions = _labels_first(labels, predictions, name=name)
    return predictions, labels


def with_same_shape(expected_tensor: tf.Tensor, tensor: tf.Tensor) -> tf.Tensor:
    """Return the tensor, held to the shape of another."""
    shape = expected_tensor.get_shape()
    with tf.name_scope(f"{tensor.op.name}/"):
        expected = shape.as_list() if shape.is_fully_defined() else tf.shape(expected_tensor)
        return with_shape(expected, tensor)


def with_shape(expected_shape: Any, tensor: tf.Tensor) -> tf.Tensor:
    """Return the tensor, held to a shape: now where both are known, else when it is evaluated.

    Raises:
        ValueError: the shapes are known and differ, or this is no shape.
    """
    if isinstance(tensor, tf.SparseTensor):
        raise ValueError("SparseTensor not supported.")
    expected = _shape_of_int32(expected_shape, tensor)
    actual = tensor.get_shape()
    if not actual.is_fully_defined() or tf.is_tensor(expected):
        return _checked_when_run(expected, tensor)
    if actual.is_compatible_with(_static(expected)):
        return tensor
    if len(expected) == 0 and actual.is_compatible_with([1]):
        with tf.name_scope(f"{tensor.op.name}/"):
            return tf.reshape(tensor, [])
    raise ValueError(f"Invalid shape for tensor {tensor.name}, expected {expected}, got {actual}.")


def _shape_of_int32(shape: Any, tensor: tf.Tensor) -> Any:
    if isinstance(shape, tf.TensorShape):
        return np.array([-1 if size is None else size for size in shape.as_list()], np.int32)
    if tf.is_tensor(shape):
        kind, fits = shape.dtype, shape.dtype.base_dtype == tf.int32
    else:
        if not isinstance(shape, np.ndarray):
            shape = np.asarray(shape, dtype=None if len(shape) else np.int32)
            shape = shape.astype(np.int32) if shape.dtype == np.int64 else shape
        if shape.ndim > 1:
            raise ValueError(
                f"Invalid rank {shape.ndim} for shape {shape} expected of tensor {tensor.name}."
            )
        kind, fits = shape.dtype, shape.dtype == np.int32
    if not fits:
        raise ValueError(
            f"Invalid dtype {kind} for shape {shape} expected of tensor {tensor.name}."
        )
    return shape


def _static(shape: np.ndarray[Any, Any]) -> list[int | None]:
    return [None if size == -1 else int(size) for size in shape]


def _checked_when_run(expected: Any, tensor: tf.Tensor) -> tf.Tensor:
    with tf.name_scope(f"{tensor.op.name}/"):
        if not tf.is_tensor(expected) and len(expected) == 0:
            return tf.reshape(tensor, [])
        with tf.control_dependencies([_assert_shape(expected, tensor)]):
            result = tf.identity(tensor)
        if not tf.is_tensor(expected):
            result.set_shape(_static(expected))
        return result


def _assert_shape(expected: Any, tensor: tf.Tensor) -> tf.Operation:
    with tf.name_scope("assert_shape") as scope:
        actual = tf.shape(tensor, name="actual")
        same_rank = tf.equal(tf.size(expected), tf.rank(tensor))
        # -1 stands for a dimension that may have any length.
        same = tf.reduce_all(tf.logical_or(tf.equal(expected, -1), tf.equal(expected, actual)))
        return tf.Assert(
            tf.logical_and(same_rank, same),
            [f"Wrong shape for {tensor.name} [expected] [actual].", expected, actual],
            name=scope,
        )
