"""Readers of files, for ``reader_class``, and a function that older scripts import from here."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets.files import mapped
from moxing.tensorflow.datasets.raw.split import split_image_classification_dataset

__all__ = ["AsyncRawGenerator", "ParallelReader", "split_image_classification_dataset"]


class ParallelReader:
    """Reads files ahead of the decoder: ``num_readers`` at once, ``capacity`` in total.

    A class of the user's own has the same two arguments, and ``read``.
    """

    def __init__(self, num_readers: int = 8, capacity: int = 256) -> None:
        for name, given in (("num_readers", num_readers), ("capacity", capacity)):
            if not isinstance(given, int) or given < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {given!r}.")
        self.num_readers = num_readers
        self.capacity = capacity

    def read(self, files: Any) -> Any:
        """Return a data set of dicts, each with ``data``, the bytes of the file at ``path``."""
        return mapped(files, with_data, self.num_readers).prefetch(self.capacity)


class AsyncRawGenerator(ParallelReader):
    """Reads from an object store: what takes long there is waiting, so more wait at once.

    The original started processes. Here waiting is done outside of Python, and threads do.
    """

    def __init__(self, num_readers: int = 8, capacity: int = 256, requests: int | None = None):
        super().__init__(num_readers, capacity)
        self.num_readers = requests or min(4 * num_readers, capacity)


def with_data(features: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    return {**features, "data": tf.io.read_file(features["path"])}
