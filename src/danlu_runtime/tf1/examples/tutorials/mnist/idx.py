"""Reads the idx files of MNIST, packed by gzip or plain, from a disk or an object store."""

import gzip
from typing import IO

import numpy as np

IMAGES_MAGIC = 2051
LABELS_MAGIC = 2049
GZIP_MAGIC = b"\x1f\x8b"


def extract_images(f: IO[bytes]) -> np.ndarray:
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


def extract_labels(f: IO[bytes], one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Return the labels of an open idx file as uint8 [index], or as one-hot rows."""
    count, payload = _open(f, LABELS_MAGIC, "label")
    labels = np.frombuffer(payload, dtype=np.uint8)
    if labels.size != count:
        raise ValueError(
            f"The MNIST label file {f.name} is cut short: its head promises {count} labels, it "
            f"holds {labels.size}. Copy it again."
        )
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
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
