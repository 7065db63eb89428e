"""`tensorflow.examples.tutorials.mnist.input_data`: reads MNIST from a folder or an object store.

Nothing is downloaded: a folder without the four files is an error that names them.
"""

import os
from typing import Any

import tensorflow.compat.v1 as tf

from danlu_runtime.notes import note
from danlu_runtime.tf1.examples.tutorials.mnist.dataset import DataSet, Datasets
from danlu_runtime.tf1.examples.tutorials.mnist.idx import (
    dense_to_one_hot,
    extract_images,
    extract_labels,
)

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
    paths = [_find(folder, name) for name in FILES]
    missing = [name for name, path in zip(FILES, paths, strict=True) if path is None]
    if missing:
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
            f"The training files hold {examples} examples, the default validation set takes "
            f"{wanted}: {size} were taken instead.",
        )
        return size
    if not 0 <= wanted <= examples:
        raise ValueError(f"Validation size should be between 0 and {examples}. Received: {wanted}.")
    return wanted
