"""Copies of files on the local disk, for ``cache_dir``."""

import os

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
