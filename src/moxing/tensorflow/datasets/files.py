"""Where the files of a data set lie: listings, and copies on the local disk."""

import os
from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file


class Copies:
    """Copies of files in a local folder, each made when it is first wanted."""

    def __init__(self, folder: str, base: str) -> None:
        self._folder = folder
        self._base = base

    def __call__(self, path: bytes) -> bytes:
        """Return the path of the copy. Safe in threads: a copy appears whole."""
        name = os.fsdecode(path)
        target = os.path.join(self._folder, name[len(self._base) :].lstrip("/"))
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            own = f"{target}.{os.urandom(4).hex()}"
            file.copy(name, own)
            os.replace(own, target)
        return os.fsencode(target)

    def of(self, path: tf.Tensor) -> tf.Tensor:
        copy = tf.numpy_function(self.__call__, [path], tf.string)
        copy.set_shape([])
        return copy


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
    """Return the elements for which a function returns True."""
    return dataset.filter(tf.autograph.experimental.do_not_convert(function))
