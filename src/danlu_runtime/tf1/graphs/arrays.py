"""Arrays: the operations that TensorFlow 1.15 created for splits, reductions and products."""

import functools
import operator
from types import ModuleType
from typing import Any

import numpy as np
from tensorflow.python.eager import context
from tensorflow.python.framework import (
    constant_op,
    dtypes,
    ops,
    sparse_tensor,
    tensor_shape,
    tensor_util,
)
from tensorflow.python.framework import tensor as tensors
from tensorflow.python.ops import (
    array_ops,
    array_ops_stack,
    gen_array_ops,
    gen_data_flow_ops,
    gen_math_ops,
    gradients_util,
    math_ops,
    tensor_array_ops,
)
from tensorflow.python.util import compat


def split(
    value: Any, num_or_size_splits: Any, axis: Any = 0, num: int | None = None, name: str = "split"
) -> Any:
    """Split a tensor. TensorFlow 1.15 made a constant of the number of parts, too."""
    size_splits = ops.convert_to_tensor(num_or_size_splits)
    if isinstance(num_or_size_splits, (*compat.integral_types, tensor_shape.Dimension)):
        return gen_array_ops.split(axis=axis, num_split=num_or_size_splits, value=value, name=name)
    if size_splits._rank() == 0:
        raise ValueError(
            "Rank-0 tensors are not supported as the num_or_size_splits argument to split. "
            f"Argument provided: {num_or_size_splits}"
        )
    if num is None:
        shape = size_splits._shape_tuple()
        num = shape[0] if shape else None
        if num is None:
            raise ValueError(f"Cannot infer num from shape {num_or_size_splits}")
    return gen_array_ops.split_v(
        value=value, size_splits=size_splits, axis=axis, num_split=num, name=name
    )


def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Any:
    """Return a placeholder for a sparse tensor; a known shape was a constant, not a placeholder."""
    if context.executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    shape_name = f"{name}/shape" if name is not None else None
    rank = None
    if shape is None:
        shape = array_ops.placeholder(dtypes.int64, shape=[rank], name=shape_name)
    elif isinstance(shape, tensors.Tensor):
        rank = shape.get_shape()[0]
    else:
        rank = len(shape)
        sizes = (tensor_shape.dimension_value(size) for size in shape)
        shape = tuple(-1 if size is None else size for size in sizes)
        shape = ops.convert_to_tensor(shape, dtype=dtypes.int64, name=shape_name)
    values = array_ops.placeholder(
        dtype, shape=[None], name=f"{name}/values" if name is not None else None
    )
    indices = array_ops.placeholder(
        dtypes.int64, shape=[None, rank], name=f"{name}/indices" if name is not None else None
    )
    return sparse_tensor.SparseTensor(values=values, indices=indices, dense_shape=shape)


def reduction_dims(x: Any, axis: Any) -> Any:
    """Return the axes of a reduction: for a scalar an empty constant, not a range."""
    if axis is not None:
        return axis
    if isinstance(x, tensors.Tensor) and x.shape.rank is not None:
        return constant_op.constant(np.arange(x.shape.rank), dtype=dtypes.int32)
    if isinstance(x, sparse_tensor.SparseTensor) and x.dense_shape.shape.is_fully_defined():
        rank = tensor_shape.dimension_value(x.dense_shape.shape[0])
        return constant_op.constant(np.arange(rank), dtype=dtypes.int32)
    return math_ops.range(0, array_ops.rank(x))


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Any:
    """Multiply two tensors. TensorFlow 2 leaves out transpositions and shapes without effect."""
    with ops.name_scope(name, "Tensordot", [a, b, axes]) as name:
        a = ops.convert_to_tensor(a, name="a")
        b = ops.convert_to_tensor(b, name="b")
        a_axes, b_axes = _tensordot_axes(a, axes)
        a_matrix, a_free, a_static = _as_matrix(a, a_axes, flipped=False)
        b_matrix, b_free, b_static = _as_matrix(b, b_axes, flipped=True)
        product = math_ops.matmul(a_matrix, b_matrix)
        if isinstance(a_free, list) and isinstance(b_free, list):
            return array_ops.reshape(product, a_free + b_free, name=name)
        a_free = ops.convert_to_tensor(a_free, dtype=dtypes.int32)
        b_free = ops.convert_to_tensor(b_free, dtype=dtypes.int32)
        product = array_ops.reshape(product, array_ops.concat([a_free, b_free], 0), name=name)
        if a_static is not None and b_static is not None:
            product.set_shape(a_static + b_static)
        return product


def _tensordot_axes(a: Any, axes: Any) -> tuple[Any, Any]:
    rank = a.get_shape().ndims
    if isinstance(axes, compat.integral_types):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        if rank is None:
            known = array_ops.rank(a)
            return (
                math_ops.range(known - axes, known, dtype=dtypes.int32),
                math_ops.range(axes, dtype=dtypes.int32),
            )
        if axes > rank:
            raise ValueError(
                f"'axes' must not be larger than the number of dimensions of tensor {a}."
            )
        return list(range(rank - axes, rank)), list(range(axes))
    if not isinstance(axes, list | tuple):
        axes = ops.convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
        return axes[0], axes[1]
    if len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    a_axes, b_axes = axes
    if isinstance(a_axes, compat.integral_types) and isinstance(b_axes, compat.integral_types):
        a_axes, b_axes = [a_axes], [b_axes]
    if len(a_axes) != len(b_axes):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(a_axes)} != {len(b_axes)}."
        )
    return a_axes, b_axes


def _as_matrix(a: Any, axes: Any, flipped: bool) -> tuple[Any, Any, Any]:
    """Return the matrix of a tensor, and its other dimensions: of the graph, and as known now."""
    static = None
    if a.get_shape().ndims is not None and isinstance(axes, list | tuple):
        sizes = a.get_shape().as_list()
        axes = [axis if axis >= 0 else axis + len(sizes) for axis in axes]
        free = [axis for axis in range(len(sizes)) if axis not in axes]
        static = [sizes[axis] for axis in free]
        if a.get_shape().is_fully_defined():
            rows = int(np.prod(static))
            columns = int(np.prod([sizes[axis] for axis in axes]))
            order = list(axes) + free if flipped else free + list(axes)
            shape = [columns, rows] if flipped else [rows, columns]
            return array_ops.reshape(array_ops.transpose(a, order), shape), static, static
        axes = ops.convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        free = ops.convert_to_tensor(free, dtype=dtypes.int32, name="free")
        sizes = array_ops.shape(a)
    else:
        sizes = array_ops.shape(a)
        rank = array_ops.rank(a)
        axes = ops.convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        axes = array_ops.where(axes >= 0, axes, axes + rank)
        free, _ = gen_array_ops.list_diff(math_ops.range(rank), axes, dtypes.int32)
    free_sizes = array_ops.gather(sizes, free)
    axis_sizes = array_ops.gather(sizes, axes)
    rows = math_ops.reduce_prod(free_sizes)
    columns = math_ops.reduce_prod(axis_sizes)
    if flipped:
        order = array_ops.concat([axes, free], 0)
        shape = array_ops_stack.stack([columns, rows])
    else:
        order = array_ops.concat([free, axes], 0)
        shape = array_ops_stack.stack([rows, columns])
    return array_ops.reshape(array_ops.transpose(a, order), shape), free_sizes, static


def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Any:
    """Return evenly spaced numbers by one operation, or along an axis as TensorFlow 2 does."""
    if axis == 0 and all(np.ndim(_constant(bound)) == 0 for bound in (start, stop)):
        return gen_math_ops.lin_space(start, stop, num, name=name)
    return _LINSPACE(start, stop, num, name=name, axis=axis)


def _constant(bound: Any) -> Any:
    """Return a value with the rank of a bound."""
    if tensor_util.is_tf_type(bound):
        return np.zeros([1] * (bound.shape.rank or 0))
    return bound


_LINSPACE = math_ops.linspace_nd


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None
) -> Any:
    """Return the shape as int32 unless another type is asked for, also if it is a constant."""
    return _SHAPE_INTERNAL(input, name, optimize, out_type or dtypes.int32)


_SHAPE_INTERNAL = array_ops.shape_internal


def constant_if_small(value: Any, shape: Any, dtype: Any, name: str, layout: Any = None) -> Any:
    """Return a constant for ``zeros`` and ``ones``, None if the shape is large or not known.

    TensorFlow 1.15 multiplied and compared dimensions that are tensors, too, to no effect.
    """
    if isinstance(shape, list | tuple) and any(map(tensor_util.is_tf_type, shape)):
        functools.reduce(operator.mul, shape) < 1000  # noqa: B015
        return None
    return _CONSTANT_IF_SMALL(value, shape, dtype, name, layout=layout)


_CONSTANT_IF_SMALL = array_ops._constant_if_small


def _size_of_array(self: Any, name: str | None = None) -> Any:
    """Return the size of a TensorArray, always by its operation."""
    return gen_data_flow_ops.tensor_array_size_v3(handle=self._handle, flow_in=self.flow, name=name)


class _ArraysOfGradients(ModuleType):
    """``array_ops`` as the module of ``tf.gradients`` sees it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(array_ops, name)

    def ones(self, shape: Any, dtype: Any, name: str) -> Any:
        """Return the gradient of a result: the constant has the name, not the operation."""
        return array_ops.fill(shape, constant_op.constant(1, dtype=dtype, name=name))


def change_methods() -> None:
    tensor_array_ops._GraphTensorArray.size = _size_of_array
    gradients_util.array_ops = _ArraysOfGradients(array_ops.__name__)


FUNCTIONS: dict[str, Any] = {
    "ops.array_ops.split": split,
    "ops.array_ops.shape_internal": shape_internal,
    "ops.array_ops._constant_if_small": constant_if_small,
    "ops.array_ops.sparse_placeholder": sparse_placeholder,
    "ops.math_ops._ReductionDims": reduction_dims,
    "ops.math_ops.tensordot": tensordot,
    "ops.math_ops.linspace_nd": linspace,
}
