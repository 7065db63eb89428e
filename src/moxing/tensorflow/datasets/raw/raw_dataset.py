"""The names scripts import from here."""

from moxing.tensorflow.datasets.raw.classification import ImageClassificationRawDataset
from moxing.tensorflow.datasets.raw.folders import ImageClassificationRawMetadata
from moxing.tensorflow.datasets.raw.multilabel import MultilabelClassificationRawDataset
from moxing.tensorflow.datasets.raw.multilabel_folders import MultilabelClassificationRawMetadata
from moxing.tensorflow.datasets.raw.split import split_image_classification_dataset

__all__ = [
    "ImageClassificationRawDataset",
    "ImageClassificationRawMetadata",
    "MultilabelClassificationRawDataset",
    "MultilabelClassificationRawMetadata",
    "split_image_classification_dataset",
]
