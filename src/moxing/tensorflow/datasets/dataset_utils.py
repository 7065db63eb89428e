"""The functions with which TF-slim's converters write records, under TF-slim's names."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.framework import file
from moxing.tensorflow.datasets import places

LABELS_FILENAME = "labels.txt"


def int64_feature(values: Any) -> Any:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=_listed(values)))


def float_feature(values: Any) -> Any:
    return tf.train.Feature(float_list=tf.train.FloatList(value=_listed(values)))


def bytes_feature(values: Any) -> Any:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=_listed(values)))


def image_to_tfexample(
    image_data: bytes, image_format: bytes | str, height: int, width: int, class_id: Any
) -> Any:
    """Return a record that ``ImageClassificationTFRecordDataset`` and slim read."""
    features = {
        "image/encoded": bytes_feature(image_data),
        "image/format": bytes_feature(tf.compat.as_bytes(image_format)),
        "image/class/label": int64_feature(class_id),
        "image/height": int64_feature(height),
        "image/width": int64_feature(width),
    }
    return tf.train.Example(features=tf.train.Features(feature=features))


def write_label_file(
    labels_to_class_names: Mapping[int, str], dataset_dir: str, filename: str = LABELS_FILENAME
) -> None:
    lines = (f"{number}:{name}\n" for number, name in labels_to_class_names.items())
    file.write(places.joined(dataset_dir, filename), "".join(lines))


def has_labels(dataset_dir: str, filename: str = LABELS_FILENAME) -> bool:
    return file.exists(places.joined(dataset_dir, filename))


def read_label_file(dataset_dir: str, filename: str = LABELS_FILENAME) -> dict[int, str]:
    """Return number → name of a file of lines ``0:name``; numbers may be left out in between."""
    text = file.read(places.joined(dataset_dir, filename))
    pairs = (line.partition(":") for line in text.splitlines() if line.strip())
    return {int(number): name.strip() for number, _, name in pairs}


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, list | tuple) else [values]
