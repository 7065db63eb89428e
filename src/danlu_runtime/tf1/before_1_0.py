"""Names and argument orders from before TensorFlow 1.0, which scripts of 2016 still use."""

import functools
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

_RNN = {
    "rnn": "static_rnn",
    "bidirectional_rnn": "static_bidirectional_rnn",
    "state_saving_rnn": "static_state_saving_rnn",
}


def accept_old_calls() -> None:
    """Add these calls to the modules of ``tf``; a second call is harmless."""
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
    """Multiply the matrices of two batches; an adjoint matrix is conjugated and transposed."""
    import tensorflow.compat.v1 as tf

    return tf.matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def summary(name: str) -> Callable[..., Any]:
    """Return ``tf.<name>`` of before 1.0; its tags have no scope and may be a list."""
    # TensorFlow 2.21 still has these functions, without a public name.
    found: Callable[..., Any] = getattr(import_module("tensorflow.python.ops.logging_ops"), name)
    return found


def _inputs_first(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Accept inputs before labels, as before 1.0; labels are integers and inputs are not."""

    @functools.wraps(loss)
    def call(*args: Any, **named: Any) -> Any:
        if len(args) > 3 and _kind(args[2]).is_floating and _kind(args[3]).is_integer:
            args = (*args[:2], args[3], args[2], *args[4:])
        return loss(*args, **named)

    return call


def _height_and_width(resize: Callable[..., Any]) -> Callable[..., Any]:
    """Accept ``resize_images(images, height, width, method, align_corners)`` of before 1.0."""

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
    """Accept a flag per dimension as the second argument, as before 1.0."""
    by_flags = import_module("tensorflow.python.ops.gen_array_ops").reverse

    @functools.wraps(reverse)
    def call(tensor: Any, axis: Any = None, name: Any = None, dims: Any = None) -> Any:
        wanted = axis if dims is None else dims
        if _kind(wanted).is_bool:
            return by_flags(tensor, wanted, name=name)
        return reverse(tensor, wanted, name=name)

    return call


def _kind(value: Any) -> Any:
    """Return the element type of a tensor or of a value that becomes one."""
    import numpy
    import tensorflow.compat.v1 as tf

    if hasattr(value, "dtype"):
        return tf.as_dtype(value.dtype).base_dtype
    try:
        return tf.as_dtype(numpy.asarray(value).dtype)
    except (TypeError, ValueError, NotImplementedError):
        return tf.variant  # a list with tensors: neither numbers nor flags


def _is_number(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    if shape is None:
        return isinstance(value, int)
    return shape.rank == 0 if hasattr(shape, "rank") else len(shape) == 0


# These took one matrix or signal. Since 1.0 they also take a batch.
_BATCHES = (
    *("cholesky", "cholesky_solve", "self_adjoint_eig", "self_adjoint_eigvals", "svd"),
    *("matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part"),
    *("matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls"),
    *("matrix_transpose", "matrix_triangular_solve"),
    *("fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"),
)
_SUMMARIES = ("histogram_summary", "image_summary", "scalar_summary")
_RENAMED = {
    **{f"batch_{name}": name for name in _BATCHES},
    "complex_abs": "abs",
    "inv": "reciprocal",
    "listdiff": "setdiff1d",
    "merge_all_summaries": "summary.merge_all",
    "merge_summary": "summary.merge",
    "mul": "multiply",
    "neg": "negative",
    "pack": "stack",
    "select": "where",
    "sub": "subtract",
    "unpack": "unstack",
}


def _renamed(path: str) -> Callable[[], Any]:
    def find() -> Any:
        import tensorflow.compat.v1 as tf

        value: Any = tf
        for part in path.split("."):
            value = getattr(value, part)
        return value

    return find


# Name in ``tf`` -> function that returns its value.
OLDER: dict[str, Callable[[], Any]] = {
    **{old: _renamed(new) for old, new in _RENAMED.items()},
    **{name: partial(summary, name) for name in _SUMMARIES},
    "batch_matmul": lambda: batch_matmul,
}


def accept() -> None:
    """Add the old names to the modules of ``tf`` and accept the old argument orders."""
    import tensorflow.compat.v1 as tf

    tf.train.SummaryWriter = tf.summary.FileWriter
    for name in ("softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits"):
        setattr(tf.nn, name, _logits_first(getattr(tf.nn, name)))
    sparse = "sparse_softmax_cross_entropy_with_logits"
    setattr(tf.nn, sparse, _logits_first(getattr(tf.nn, sparse)))
    tf.concat = _number_first(tf.concat)
    tf.split = _split(tf.split)
    accept_old_calls()


def _logits_first(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Accept positional logits and labels, as before 1.0; later versions take keywords only."""
    import functools

    @functools.wraps(loss)
    def call(*args: Any, **named: Any) -> Any:
        if args and args[0] is not None:
            named |= dict(zip(("logits", "labels"), args[:2], strict=False))
            args = ()
        return loss(*args, **named)

    return call


def _number_first(concat: Callable[..., Any]) -> Callable[..., Any]:
    """Accept ``tf.concat(dimension, values)`` of before 1.0."""
    import functools

    @functools.wraps(concat)
    def call(*args: Any, **named: Any) -> Any:
        if "concat_dim" in named:
            named["axis"] = named.pop("concat_dim")
        if len(args) > 1 and isinstance(args[0], int) and isinstance(args[1], list | tuple):
            args = (args[1], args[0], *args[2:])
        return concat(*args, **named)

    return call


def _split(split: Callable[..., Any]) -> Callable[..., Any]:
    """Accept ``tf.split(dimension, number, value)`` of before 1.0."""
    import functools

    @functools.wraps(split)
    def call(*args: Any, **named: Any) -> Any:
        if "split_dim" in named:
            named["axis"] = named.pop("split_dim")
        if "num_split" in named:
            named["num_or_size_splits"] = named.pop("num_split")
        if len(args) == 3 and isinstance(args[0], int) and not isinstance(args[2], int):
            args = (args[2], args[1], args[0])
        return split(*args, **named)

    return call
