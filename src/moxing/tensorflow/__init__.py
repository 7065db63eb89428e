"""MoXing for TensorFlow 1: ``mox.run``, data sets, networks and optimizers.

Importing it loads nothing: a name is imported from its package on first use. A name that MoXing
does not have is TensorFlow's, because the manual writes ``import moxing.tensorflow as tf``.

``executor``: ``mox.run``. ``datasets``, ``preprocessing``: data sets; augmentation of images.
``nets``, ``optimizer``: networks and optimizers by name.
``preset``: preset models, which train without code. ``utils``: flags and version checks.
"""

import importlib
from typing import Any

_HOMES = {
    "executor": (
        *("run", "ModelSpec", "ExportSpec", "InputSpec", "ModeKeys", "ModeKey", "ExportKeys"),
        *("AggregativeSessionRunHook", "FeedSessionRunHook", "LogEvaluationMetricHook"),
        *("EarlyStoppingHook", "PlateauLREarlyStoppingHook"),
        *("get_collection", "get_flag", "set_flag", "var_scope", "cache"),
    ),
    "datasets": (
        *("ImageClassificationRawMetadata", "ImageClassificationRawDataset"),
        *("MultilabelClassificationRawMetadata", "MultilabelClassificationRawDataset"),
        *("BaseTFRecordMetadata", "BaseTFRecordDataset"),
        *("ImageClassificationTFRecordMetadata", "ImageClassificationTFRecordDataset"),
        *("MultilabelClassificationTFRecordMetadata", "MultilabelClassificationTFRecordDataset"),
        *("AsyncRawGenerator", "get_dataset", "get_dataset_meta", "get_tfrecord"),
    ),
    "nets": ("NetworkKeys", "get_model_fn", "get_model_meta"),
    "preprocessing": ("PreprocessingKeys", "get_data_augmentation_fn"),
    "optimizer": (
        *("OptimizerKeys", "OptimizerWrapperKeys", "get_optimizer_fn", "get_optimizer_wrapper_fn"),
    ),
    "utils": (),
}
_VERSIONS = ("__version__", "__git_version__", "__compiler_version__")  # TensorFlow's
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name not in _VERSIONS:
        raise AttributeError(name)  # asked by Python itself: copy, inspect, `import *`
    if name == "file":
        from moxing.framework import file

        return file
    if name in _HOMES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _HOME_OF:
        return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    if name == "auto":
        from danlu.errors import Unsupported

        raise Unsupported.from_key("moxing.no_auto")
    return getattr(importlib.import_module("tensorflow"), name)
