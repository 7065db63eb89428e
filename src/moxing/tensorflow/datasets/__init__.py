"""Data sets of MoXing: folders of images, TFRecord files, and named data sets.

A metadata object describes the files and builds no graph. A data set object, created in
``input_fn``, returns tensors: ``dataset.get(['image', 'label'])``. Names are imported on first use.

``base``, ``files``, ``places``, ``images``, ``labels``: what all share: base class, file lists,
local copies, decoding, class labels.
``raw``, ``reader``: folders of images, and readers of files. ``tfrecord``: TFRecord files.
``named``, ``tfrecord_image``: data sets by name; ImageNet in stages.
``tfrecord_common``, ``dataset_utils``: paths that scripts import.
"""

import importlib
from typing import Any

_HOMES = {
    "raw.raw_dataset": (
        *("ImageClassificationRawMetadata", "ImageClassificationRawDataset"),
        *("MultilabelClassificationRawMetadata", "MultilabelClassificationRawDataset"),
        "split_image_classification_dataset",
    ),
    "reader.raw_reader": ("AsyncRawGenerator", "ParallelReader"),
    "tfrecord.tfrecord_common": (
        *("BaseTFRecordMetadata", "BaseTFRecordDataset", "get_tfrecord"),
        *("ImageClassificationTFRecordMetadata", "ImageClassificationTFRecordDataset"),
        *("MultilabelClassificationTFRecordMetadata", "MultilabelClassificationTFRecordDataset"),
    ),
    "tfrecord_image": ("ProgressiveImagenetDataset",),
    "named": ("get_dataset", "get_dataset_meta"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
# Modules that scripts reach by attribute.
_MODULES = ("raw", "reader", "tfrecord", "tfrecord_common", "tfrecord_image", "dataset_utils")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
