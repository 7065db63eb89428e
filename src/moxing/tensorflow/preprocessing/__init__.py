"""Augmentation of images by the name of a network. TensorFlow is loaded on first use.

``preprocessing_factory``: ``mox.get_data_augmentation_fn``. ``families``: the four methods.
"""

from moxing.tensorflow.preprocessing.preprocessing_factory import (
    PreprocessingKeys,
    get_data_augmentation_fn,
)

__all__ = ["PreprocessingKeys", "get_data_augmentation_fn"]
