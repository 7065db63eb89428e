"""Names and orders of arguments from before TensorFlow 1.0, which scripts of 2016 still have."""

from collections.abc import Callable
from functools import partial
from typing import Any

from danlu_runtime.tf1 import before_one_calls

# These took one matrix, or one signal; from 1.0 on they take a batch of them too.
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


# Name in ``tf`` -> what gives it.
OLDER: dict[str, Callable[[], Any]] = {
    **{old: _renamed(new) for old, new in _RENAMED.items()},
    **{name: partial(before_one_calls.summary, name) for name in _SUMMARIES},
    "batch_matmul": lambda: before_one_calls.batch_matmul,
}


def accept() -> None:
    """Put the older names into the modules of ``tf`` and take the older orders of arguments."""
    import tensorflow.compat.v1 as tf

    tf.train.SummaryWriter = tf.summary.FileWriter
    for name in ("softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits"):
        setattr(tf.nn, name, _logits_first(getattr(tf.nn, name)))
    sparse = "sparse_softmax_cross_entropy_with_logits"
    setattr(tf.nn, sparse, _logits_first(getattr(tf.nn, sparse)))
    tf.concat = _number_first(tf.concat)
    tf.split = _split(tf.split)
    before_one_calls.accept()


def _logits_first(loss: Callable[..., Any]) -> Callable[..., Any]:
    """From 1.0 on these took names only; before, the logits came first."""
    import functools

    @functools.wraps(loss)
    def call(*args: Any, **named: Any) -> Any:
        if args and args[0] is not None:
            named |= dict(zip(("logits", "labels"), args[:2], strict=False))
            args = ()
        return loss(*args, **named)

    return call


def _number_first(concat: Callable[..., Any]) -> Callable[..., Any]:
    """Before 1.0 it was ``tf.concat(dimension, values)``."""
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
    """Before 1.0 it was ``tf.split(dimension, number, value)``."""
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
