"""Data sets of MoXing: folders of images, TFRecord files, and the named ones.

A metadata object says what there is and touches no graph; a data set object, made inside
``input_fn``, gives tensors: ``dataset.get(['image', 'label'])``. A name is looked for when it is
used.
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
