"""The names of TFRecord data sets, at the path from which scripts import them."""

from moxing.tensorflow.datasets.tfrecord.items import get_tfrecord
from moxing.tensorflow.datasets.tfrecord.metadata import (
    BaseTFRecordMetadata,
    ImageClassificationTFRecordMetadata,
    MultilabelClassificationTFRecordMetadata,
)
from moxing.tensorflow.datasets.tfrecord.records import (
    BaseTFRecordDataset,
    ImageClassificationTFRecordDataset,
    MultilabelClassificationTFRecordDataset,
)

__all__ = [
    "BaseTFRecordDataset",
    "BaseTFRecordMetadata",
    "ImageClassificationTFRecordDataset",
    "ImageClassificationTFRecordMetadata",
    "MultilabelClassificationTFRecordDataset",
    "MultilabelClassificationTFRecordMetadata",
    "get_tfrecord",
]
