"""The list of a data set's files as TensorFlow reads it: shuffled whole, anew in each epoch.

It lies in a file beside the graph and not in it: a graph with a million names would be written
out with every checkpoint.
"""

import os
import struct
from collections.abc import Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import shuffle_seed, workers

_NUMBER = struct.Struct("<q")
_TO_THE_END = 1 << 30


def listing(
    files: Sequence[tuple[str, int]],
    *,
    shuffle: bool,
    buffer_size: int,
    num_epochs: int | None,
    shard: bool,
) -> Any:
    """Return a data set of records, one for each file and epoch; ``split`` reads them."""
    count, index = workers(shard)
    own = files[index::count]
    path = places.scratch_file(tf.get_default_graph())
    with tf.io.TFRecordWriter(path) as writer:
        for name, number in own:
            writer.write(_NUMBER.pack(number) + os.fsencode(name))
    records = tf.data.TFRecordDataset(path)
    if shuffle:
        # A buffer of the whole list costs little: names, not images.
        records = records.shuffle(max(len(own), buffer_size, 1), seed=shuffle_seed())
    return records.repeat(num_epochs)


def split(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the name, relative to the data set's folder, and the number of a record."""
    number = tf.io.decode_raw(tf.strings.substr(record, 0, _NUMBER.size), tf.int64)
    return tf.strings.substr(record, _NUMBER.size, _TO_THE_END), tf.reshape(number, [])


def as_bytes(names: Sequence[str]) -> tf.Tensor:
    """Return names of files, whatever their bytes are, as a vector of the graph."""
    return tf.constant([os.fsencode(name) for name in names], tf.string)
