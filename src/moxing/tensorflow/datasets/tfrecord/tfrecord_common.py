"""The names scripts import from here."""

from moxing.tensorflow.datasets.tfrecord.classification import ImageClassificationTFRecordDataset
from moxing.tensorflow.datasets.tfrecord.items import get_tfrecord
from moxing.tensorflow.datasets.tfrecord.metadata import (
    BaseTFRecordMetadata,
    ImageClassificationTFRecordMetadata,
    MultilabelClassificationTFRecordMetadata,
)
from moxing.tensorflow.datasets.tfrecord.multilabel import MultilabelClassificationTFRecordDataset
from moxing.tensorflow.datasets.tfrecord.records import BaseTFRecordDataset

__all__ = [
    "BaseTFRecordDataset",
    "BaseTFRecordMetadata",
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
    "MultilabelClassificationTFRecordDataset",
    "MultilabelClassificationTFRecordMetadata",
    "get_tfrecord",
]
