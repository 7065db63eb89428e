"""``tf.contrib.framework.py_func``: a Python function with named and nested arguments."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.util import nest


def py_func(
    func: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    output_types: Any = None,
    output_shapes: Any = None,
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Return the operation that calls ``func``; its result has the structure of the types.

    Types and shapes may be functions: they are called with the same arguments.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, list | tuple):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    if callable(output_types) and not isinstance(output_types, tf.DType):
        output_types = output_types(*args, **kwargs)
    if callable(output_shapes):
        output_shapes = output_shapes(*args, **kwargs)
    given = (args, kwargs)

    def call(*flat: Any) -> list[Any]:
        positional, named = nest.pack_sequence_as(given, flat)
        result = func(*positional, **named)
        nest.assert_shallow_structure(output_types, result)
        return nest.flatten(result)

    values = tf.py_func(
        call, nest.flatten(given), nest.flatten(output_types), stateful=stateful, name=name
    )
    if output_shapes is not None:
        shapes = nest.map_structure_up_to(output_types, tf.TensorShape, output_shapes)
        for value, shape in zip(values, nest.flatten(shapes), strict=True):
            value.set_shape(shape)
    return nest.pack_sequence_as(output_types, values)
