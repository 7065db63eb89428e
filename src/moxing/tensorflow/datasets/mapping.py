"""Functions over the elements of a tf.data pipeline, run as they are written."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf


def mapped(
    dataset: Any, function: Callable[..., Any], threads: int | None = None, in_order: bool = True
) -> Any:
    """Return the elements after a function; ``threads`` None: one after the other.

    AutoGraph, which scripts of that time did not know, leaves the function alone.
    """
    plain = tf.autograph.experimental.do_not_convert(function)
    if threads is None:
        return dataset.map(plain)
    return dataset.map(plain, num_parallel_calls=threads, deterministic=in_order)


def kept(dataset: Any, function: Callable[..., Any]) -> Any:
    """Return the elements of which a function says True."""
    return dataset.filter(tf.autograph.experimental.do_not_convert(function))
