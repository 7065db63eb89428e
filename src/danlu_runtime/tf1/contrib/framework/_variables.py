"""Functions of ``tf.contrib.framework.variables`` that tf-slim 1.1 lacks or that fail there.

tf-slim 1.1 takes a partition out of an array with a list of slices, which NumPy refuses since
1.23: a tuple is meant.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tf_slim.ops import variables as _slim
from tf_slim.ops.variables import get_variable_full_name

Variables = Sequence[Any] | Mapping[str, Any]


def assign_from_checkpoint(
    model_path: str, var_list: Variables, ignore_missing_vars: bool = False
) -> tuple[tf.Operation, dict[tf.Tensor, Any]]:
    """Return an operation that sets variables, and what to feed it: the checkpoint's values.

    Raises:
        ValueError: a variable is missing in the checkpoint, or has another shape there.
    """
    reader = tf.train.NewCheckpointReader(model_path)
    assigned: list[tf.Operation] = []
    feed: dict[tf.Tensor, Any] = {}
    for name, variables in _by_name(var_list).items():
        if not reader.has_tensor(name):
            missing = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(missing)
            tf.logging.warning(missing)
            continue
        value = reader.get_tensor(name)
        for variable in variables:
            shape, full_name = variable.get_shape(), variable.op.name
            dtype = variable.dtype.base_dtype
            holder = tf.placeholder(dtype, shape, name=f"placeholder/{full_name}")
            assigned.append(variable.assign(holder))
            feed[holder] = _part(value, variable, name)
    return tf.group(*assigned), feed


def _by_name(var_list: Variables) -> Mapping[str, Iterable[Any]]:
    """Group by name in the checkpoint: all partitions of a variable have one there."""
    if isinstance(var_list, Mapping):
        return {n: v if isinstance(v, tuple | list) else [v] for n, v in var_list.items()}
    grouped: dict[str, list[Any]] = {}
    for variable in var_list:
        grouped.setdefault(get_variable_full_name(variable), []).append(variable)
    return grouped


def _part(value: Any, variable: Any, name: str) -> Any:
    info = variable._save_slice_info
    if info:
        spans = zip(info.var_offset, info.var_shape, strict=True)
        return value[tuple(slice(start, start + size) for start, size in spans)]
    if variable.get_shape() != value.shape:
        raise ValueError(
            f"Total size of new array must be unchanged for {name} "
            f"lh_shape: [{value.shape}], rh_shape: [{variable.get_shape()}]"
        )
    return value


# ``tf.contrib.framework.zero_initializer``, once an operation of its own.


def zero_initializer(
    ref: tf.Variable, use_locking: bool = True, name: str = "zero_initializer"
) -> tf.Tensor:
    """Return the operation that fills a variable with zeros; run on a filled one, it fails."""
    with tf.name_scope(name):
        empty = tf.logical_not(tf.is_variable_initialized(ref))
        with tf.control_dependencies([tf.Assert(empty, ["input is already initialized"])]):
            zeros = tf.zeros(ref.shape, ref.dtype.base_dtype)
        return tf.assign(ref, zeros, use_locking=use_locking)


# Scripts import the module of tf-slim itself, because they use its private names too.
_slim.assign_from_checkpoint = assign_from_checkpoint
_slim.zero_initializer = zero_initializer
