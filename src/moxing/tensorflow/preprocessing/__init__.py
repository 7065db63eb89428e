"""Augmentation by the name of a network. Nothing of TensorFlow is loaded before it is used."""

from moxing.tensorflow.preprocessing.preprocessing_factory import (
    PreprocessingKeys,
    get_data_augmentation_fn,
)

__all__ = ["PreprocessingKeys", "get_data_augmentation_fn"]
