"""`tf.contrib.learn.datasets.base`: data sets of CSV files. Nothing is downloaded."""

import collections
import csv
import os
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from danlu_runtime.tf1.examples.tutorials.mnist.input_data import Datasets  # noqa: F401

GONE = {
    "load_boston": "removed.boston",
    "urlretrieve_with_retry": "removed.download",
}

Dataset = collections.namedtuple("Dataset", ["data", "target"])


def load_csv_with_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Read a file whose first row says how many rows and features there are."""
    with tf.gfile.Open(filename) as file:
        rows = csv.reader(file)
        header = next(rows)
        samples, features = int(header[0]), int(header[1])
        data = np.zeros((samples, features), dtype=features_dtype)
        target = np.zeros((samples,), dtype=target_dtype)
        for index, row in enumerate(rows):
            target[index] = np.asarray(row.pop(target_column), dtype=target_dtype)
            data[index] = np.asarray(row, dtype=features_dtype)
    return Dataset(data=data, target=target)


def load_csv_without_header(
    filename: str, target_dtype: Any, features_dtype: Any, target_column: int = -1
) -> Dataset:
    """Read a file of rows alone."""
    data, target = [], []
    with tf.gfile.Open(filename) as file:
        for row in csv.reader(file):
            target.append(row.pop(target_column))
            data.append(np.asarray(row, dtype=features_dtype))
    return Dataset(data=np.array(data), target=np.array(target, dtype=target_dtype))


def shrink_csv(filename: str, ratio: int) -> None:
    """Write `filename_small` with every `ratio`-th row."""
    with tf.gfile.Open(filename) as whole, tf.gfile.Open(f"{filename}_small", "w") as small:
        writer = csv.writer(small)
        writer.writerows(row for i, row in enumerate(csv.reader(whole)) if i % ratio == 0)


def load_iris(data_path: str | None = None) -> Dataset:
    """Return the 150 flowers, from a file in TensorFlow's format or from scikit-learn's copy."""
    if data_path is not None:
        return load_csv_with_header(data_path, target_dtype=np.int64, features_dtype=np.float64)
    from sklearn.datasets import load_iris as shipped

    flowers = shipped()
    return Dataset(data=flowers.data, target=flowers.target.astype(np.int64))


def maybe_download(filename: str, work_directory: str, source_url: str) -> str:
    """Return where the file is.

    Raises:
        FileNotFoundError: it is not there; `source_url` is not asked.
    """
    path = os.path.join(work_directory, filename)
    if not tf.gfile.Exists(path):
        raise FileNotFoundError(
            f"{path} does not exist and nothing is downloaded while a job runs. "
            f"Fetch it from {source_url} yourself and put it there."
        )
    return path
