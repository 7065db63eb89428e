"""What sequences must be like before they are cut into segments."""

import numbers
from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from danlu.errors import Unsupported


def checked_names(
    kind: str, tensors: Mapping[str, Any], without_first: bool = False
) -> dict[str, tf.Tensor]:
    """Return the tensors by name, sorted; all dimensions must be known, but perhaps the first."""
    if not isinstance(tensors, dict):
        raise TypeError(f"{kind} tensors must be a dict, got {type(tensors).__name__}")
    found: dict[str, tf.Tensor] = {}
    for name in sorted(tensors):
        if not isinstance(name, str):
            raise TypeError(f"{kind} key must be string: {name}")
        if ":" in name:
            raise ValueError(f"{kind} key may not have a colon: '{name}'")
        tensor = _dense(kind, name, tensors[name])
        if not tensor.get_shape()[1 if without_first else 0 :].is_fully_defined():
            note = "(ignoring first dimension)" if without_first else ""
            raise ValueError(
                f"Shape for {kind} {name} is not fully defined {note}: {tensor.get_shape()}"
            )
        found[name] = tensor
    return found


def checked_lengths(
    length: tf.Tensor, sequences: Mapping[str, tf.Tensor], num_unroll: int
) -> tuple[tf.Tensor, tf.Tensor, dict[str, tf.Tensor]]:
    """Return length, padded length and sequences, held to be right when they are evaluated."""
    if length.dtype != tf.int32:
        raise TypeError(f"length dtype must be int32, but received: {length.dtype}")
    first = next(iter(sequences.values()))
    steps = tf.shape(first)[0]
    whole = tf.logical_and(tf.equal(steps % num_unroll, 0), tf.not_equal(steps, 0))
    fault = [
        f"Tensor {first.name} should be a multiple of: {num_unroll}, but saw value: ",
        tf.as_string(steps),
        ". Consider setting pad=True.",
    ]
    checks = [
        tf.Assert(whole, [tf.string_join(fault)]),
        tf.assert_less_equal(length, steps),
        *(tf.assert_equal(tf.shape(tensor)[0], steps) for tensor in sequences.values()),
    ]
    with tf.control_dependencies(checks):
        checked = {name: tf.identity(tensor) for name, tensor in sequences.items()}
        return tf.identity(length), tf.identity(steps, name="padded_length"), checked


def padded(sequences: Mapping[str, Any], num_unroll: int) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Return the common length of the sequences, and them filled up to whole segments."""
    if not isinstance(num_unroll, numbers.Integral):
        raise ValueError(f"Unsupported num_unroll expected int, got: {num_unroll}")
    if not isinstance(sequences, dict):
        raise TypeError(f"Unsupported sequences expected dict, got: {sequences}")
    tensors = {name: _dense("sequence", name, sequences[name]) for name in sorted(sequences)}
    lengths = [tf.shape(tensor)[0] for tensor in tensors.values()]
    same = [
        tf.assert_equal(each, lengths[0], message="All sequence lengths must match.")
        for each in lengths
    ]
    with tf.control_dependencies(same):
        length = tf.identity(lengths[0])
    missing = -length % num_unroll
    filled: dict[str, tf.Tensor] = {}
    for name, tensor in tensors.items():
        shape = tf.concat([[missing], tf.shape(tensor)[1:]], 0)
        nothing = tf.constant("" if tensor.dtype == tf.string else 0, dtype=tensor.dtype)
        joined = tf.concat([tensor, tf.fill(shape, nothing)], 0)
        joined.set_shape(tf.TensorShape([None]).concatenate(tensor.get_shape()[1:]))
        filled[name] = joined
    return length, filled


def _dense(kind: str, name: str, tensor: Any) -> tf.Tensor:
    if isinstance(tensor, tf.SparseTensor | tf.SparseTensorValue):
        raise Unsupported(
            f"tf.contrib.training cannot queue the sparse {kind} {name!r} any more.",
            hint="Make it dense first, with tf.sparse_tensor_to_dense.",
        )
    return tf.convert_to_tensor(tensor, name=f"{kind}_{name}")
