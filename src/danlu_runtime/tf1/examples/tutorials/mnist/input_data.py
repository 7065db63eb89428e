"""`tensorflow.examples.tutorials.mnist.input_data`: reads MNIST from a folder or an object store.

Nothing is downloaded: a folder without the four files is an error that names them.
"""

import collections
import gzip
import os
from typing import IO, Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu.messages import get_message
from danlu_runtime.reports.notes import note

IMAGES_MAGIC = 2051
LABELS_MAGIC = 2049
GZIP_MAGIC = b"\x1f\x8b"


_Array = np.ndarray[Any, Any]


def extract_images(f: IO[bytes]) -> _Array:
    """Return the images of an open idx file as uint8 [index, row, column, 1]."""
    count, payload = _open(f, IMAGES_MAGIC, "image")
    rows, columns = (int(n) for n in np.frombuffer(payload[:8], dtype=">u4"))
    pixels = np.frombuffer(payload[8:], dtype=np.uint8)
    if pixels.size != count * rows * columns:
        raise ValueError(
            f"The MNIST image file {f.name} is cut short: its head promises {count} images of "
            f"{rows}x{columns}, it holds {pixels.size} bytes of pixels. Copy it again."
        )
    return pixels.reshape(count, rows, columns, 1)


def extract_labels(f: IO[bytes], one_hot: bool = False, num_classes: int = 10) -> _Array:
    """Return the labels of an open idx file as uint8 [index], or as one-hot rows."""
    count, payload = _open(f, LABELS_MAGIC, "label")
    labels = np.frombuffer(payload, dtype=np.uint8)
    if labels.size != count:
        raise ValueError(
            f"The MNIST label file {f.name} is cut short: its head promises {count} labels, it "
            f"holds {labels.size}. Copy it again."
        )
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: _Array, num_classes: int) -> _Array:
    """Return float64 rows with a one at each label, as TensorFlow 1 did."""
    rows = np.zeros((labels_dense.shape[0], num_classes))
    rows[np.arange(labels_dense.shape[0]), labels_dense.ravel()] = 1
    return rows


def _open(f: IO[bytes], magic: int, kind: str) -> tuple[int, bytes]:
    print("Extracting", f.name)
    content = f.read()
    # The first bytes decide, not the name: files are often unpacked and keep their ".gz".
    if content[:2] == GZIP_MAGIC:
        content = gzip.decompress(content)
    head = np.frombuffer(content[:8].ljust(8, b"\0"), dtype=">u4")
    if head[0] != magic:
        raise ValueError(
            f"Invalid magic number {head[0]} in MNIST {kind} file: {f.name}. "
            f"An idx {kind} file starts with {magic}."
        )
    return int(head[1]), content[8:]


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


def _prepared(images: _Array, labels: _Array, dtype: Any, reshape: bool) -> _Array:
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


__all__ = [
    "DEFAULT_SOURCE_URL",
    "DataSet",
    "Datasets",
    "dense_to_one_hot",
    "extract_images",
    "extract_labels",
    "read_data_sets",
]

# Kept because scripts pass it on; it is never opened.
DEFAULT_SOURCE_URL = "https://storage.googleapis.com/cvdf-datasets/mnist/"
DEFAULT_VALIDATION_SIZE = 5000

FILES = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = tf.float32,
    reshape: bool = True,
    validation_size: int = DEFAULT_VALIDATION_SIZE,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Datasets:
    """Return the train, validation and test sets of the four idx files in `train_dir`.

    Raises:
        FileNotFoundError: one of the four files is not there; `source_url` is not asked.
    """
    options: dict[str, Any] = {"dtype": dtype, "reshape": reshape, "seed": seed}
    if fake_data:
        fake = {"fake_data": True, "one_hot": one_hot, "dtype": dtype, "seed": seed}
        return Datasets(*(DataSet([], [], **fake) for _ in range(3)))
    train_images, train_labels, test_images, test_labels = _read(train_dir, one_hot)
    size = _validation_size(validation_size, len(train_images))
    return Datasets(
        train=DataSet(train_images[size:], train_labels[size:], **options),
        validation=DataSet(train_images[:size], train_labels[:size], **options),
        test=DataSet(test_images, test_labels, **options),
    )


def _read(folder: str, one_hot: bool) -> list[Any]:
    found = {name: _find(folder, name) for name in FILES}
    paths = [path for path in found.values() if path is not None]
    if missing := [name for name, path in found.items() if path is None]:
        raise FileNotFoundError(
            f"MNIST is not in {os.fspath(folder)!r}: {', '.join(missing)} not found. Put the four "
            f"files {', '.join(FILES)} (or the same without .gz) there; nothing is downloaded."
        )
    contents = []
    for path in paths:
        with tf.gfile.Open(path, "rb") as f:
            images = "images" in os.path.basename(path)
            contents.append(extract_images(f) if images else extract_labels(f, one_hot=one_hot))
    return contents


def _find(folder: str, name: str) -> str | None:
    """Return where a file lies, under the names mirrors and unpacking tools give it."""
    plain = name.removesuffix(".gz")
    dotted = plain.replace("-idx", ".idx")
    for candidate in (name, plain, dotted + ".gz", dotted):
        path = os.path.join(folder, candidate)
        if tf.gfile.Exists(path) and not tf.gfile.IsDirectory(path):
            return path
    return None


def _validation_size(wanted: int, examples: int) -> int:
    if wanted == DEFAULT_VALIDATION_SIZE and examples <= wanted:
        # The tutorials' default supposes 60,000 images: it would leave a small set none to train
        # on. The same share of the set is held out instead.
        size = examples // 12
        note(
            "repaired",
            get_message("tf1.mnist_validation", examples=examples, wanted=wanted, size=size),
        )
        return size
    if not 0 <= wanted <= examples:
        raise ValueError(f"Validation size should be between 0 and {examples}. Received: {wanted}.")
    return wanted
