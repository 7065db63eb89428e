"""The names of image folder data sets, at the path from which scripts import them."""

from moxing.tensorflow.datasets.raw.classification import (
    ImageClassificationRawDataset,
    MultilabelClassificationRawDataset,
)
from moxing.tensorflow.datasets.raw.folders import (
    ImageClassificationRawMetadata,
    MultilabelClassificationRawMetadata,
)
from moxing.tensorflow.datasets.raw.split import split_image_classification_dataset

__all__ = [
    "ImageClassificationRawDataset",
    "ImageClassificationRawMetadata",
    "MultilabelClassificationRawDataset",
    "MultilabelClassificationRawMetadata",
    "split_image_classification_dataset",
]
