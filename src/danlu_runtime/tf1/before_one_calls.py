"""Calls whose arguments had other names, kinds or orders before TensorFlow 1.0."""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

_RNN = {
    "rnn": "static_rnn",
    "bidirectional_rnn": "static_bidirectional_rnn",
    "state_saving_rnn": "static_state_saving_rnn",
}


def accept() -> None:
    """Put these calls into the modules of ``tf``; harmless a second time."""
    import tensorflow.compat.v1 as tf

    private = import_module("tensorflow.python.ops.rnn")
    for old, new in _RNN.items():
        for module in (tf.nn, private):
            setattr(module, old, getattr(tf.nn, new))
    tf.nn.seq2seq = import_module("danlu_runtime.tf1.contrib.legacy_seq2seq")
    for name in ("nce_loss", "sampled_softmax_loss"):
        setattr(tf.nn, name, _inputs_first(getattr(tf.nn, name)))
    tf.image.resize_images = _height_and_width(tf.image.resize_images)
    tf.reverse = _reverse(tf.reverse)


def batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False, name: Any = None) -> Any:
    """Multiply the matrices of two batches; an adjoint one is conjugated and transposed."""
    import tensorflow.compat.v1 as tf

    return tf.matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def summary(name: str) -> Callable[..., Any]:
    """Return ``tf.<name>`` of before 1.0: its tags are tags, in no scope, and may be a list."""
    # TensorFlow 2.21 keeps these functions where they were then, without a public name.
    found: Callable[..., Any] = getattr(import_module("tensorflow.python.ops.logging_ops"), name)
    return found


def _inputs_first(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Before 1.0 the inputs came before the labels; labels are whole numbers, inputs are not."""

    @functools.wraps(loss)
    def call(*args: Any, **named: Any) -> Any:
        if len(args) > 3 and _kind(args[2]).is_floating and _kind(args[3]).is_integer:
            args = (*args[:2], args[3], args[2], *args[4:])
        return loss(*args, **named)

    return call


def _height_and_width(resize: Callable[..., Any]) -> Callable[..., Any]:
    """Before 1.0 it was ``resize_images(images, height, width, method, align_corners)``."""

    @functools.wraps(resize)
    def call(*args: Any, **named: Any) -> Any:
        if "new_height" in named and "new_width" in named:
            named["size"] = [named.pop("new_height"), named.pop("new_width")]
        elif len(args) == 2 and "new_width" in named:
            args = (args[0], [args[1], named.pop("new_width")])
        elif len(args) > 2 and _is_number(args[1]):
            args = (args[0], [args[1], args[2]], *args[3:])
        return resize(*args, **named)

    return call


def _reverse(reverse: Callable[..., Any]) -> Callable[..., Any]:
    """Before 1.0 the second argument said of every dimension whether it is reversed."""
    by_flags = import_module("tensorflow.python.ops.gen_array_ops").reverse

    @functools.wraps(reverse)
    def call(tensor: Any, axis: Any = None, name: Any = None, dims: Any = None) -> Any:
        wanted = axis if dims is None else dims
        if _kind(wanted).is_bool:
            return by_flags(tensor, wanted, name=name)
        return reverse(tensor, wanted, name=name)

    return call


def _kind(value: Any) -> Any:
    """Return the type of the elements, of a tensor or of what becomes one."""
    import numpy
    import tensorflow.compat.v1 as tf

    if hasattr(value, "dtype"):
        return tf.as_dtype(value.dtype).base_dtype
    try:
        return tf.as_dtype(numpy.asarray(value).dtype)
    except (TypeError, ValueError, NotImplementedError):
        return tf.variant  # a list that has tensors in it: neither numbers nor flags


def _is_number(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    if shape is None:
        return isinstance(value, int)
    return shape.rank == 0 if hasattr(shape, "rank") else len(shape) == 0
