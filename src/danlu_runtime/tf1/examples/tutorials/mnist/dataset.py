"""One set of MNIST examples, handed out in shuffled batches as TensorFlow 1.15 did."""

import collections
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])

FAKE_EXAMPLES = 10000
FAKE_IMAGE = [1] * 784


class DataSet:
    """Images and labels, and the place reached in the current epoch.

    `dtype` uint8 leaves pixels in [0, 255], float32 scales them to [0, 1]. As in TensorFlow 1 the
    global generator of numpy is seeded here, so that a graph seed makes the batches repeatable.
    """

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = tf.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        graph_seed, op_seed = tf.get_seed(seed)
        np.random.seed(graph_seed if seed is None else op_seed)
        dtype = tf.as_dtype(dtype).base_dtype
        if dtype not in (tf.uint8, tf.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self.one_hot = one_hot
        if fake_data:
            self._num_examples = FAKE_EXAMPLES
        else:
            images = _prepared(images, labels, dtype, reshape)
            self._num_examples = images.shape[0]
        self._images = images
        self._labels = labels
        self._epochs_completed = 0
        self._index_in_epoch = 0

    @property
    def images(self) -> Any:
        return self._images

    @property
    def labels(self) -> Any:
        return self._labels

    @property
    def num_examples(self) -> int:
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next examples; a batch that crosses the end of an epoch takes from both."""
        if fake_data:
            label = [1] + [0] * 9 if self.one_hot else 0
            return [FAKE_IMAGE] * batch_size, [label] * batch_size
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self._num_examples:
            self._index_in_epoch += batch_size
            return self._part(start, self._index_in_epoch)
        self._epochs_completed += 1
        rest_images, rest_labels = self._part(start, self._num_examples)
        if shuffle:
            self._shuffle()
        self._index_in_epoch = batch_size - (self._num_examples - start)
        new_images, new_labels = self._part(0, self._index_in_epoch)
        return (
            np.concatenate((rest_images, new_images), axis=0),
            np.concatenate((rest_labels, new_labels), axis=0),
        )

    def _part(self, start: int, end: int) -> tuple[Any, Any]:
        return self._images[start:end], self._labels[start:end]

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images = self._images[order]
        self._labels = self._labels[order]


def _prepared(images: np.ndarray, labels: np.ndarray, dtype: Any, reshape: bool) -> np.ndarray:
    if images.shape[0] != labels.shape[0]:
        raise ValueError(
            f"Images and labels must be as many: images.shape is {images.shape}, "
            f"labels.shape is {labels.shape}."
        )
    if reshape:
        if images.shape[3] != 1:
            raise ValueError(f"Images must have one channel to be reshaped, got {images.shape}.")
        images = images.reshape(images.shape[0], images.shape[1] * images.shape[2])
    if dtype == tf.float32:
        images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
    return images
