"""The list of a data set's files as TensorFlow reads it: shuffled whole, anew in each epoch.

It lies in a file beside the graph and not in it: a graph with a million names would be written
out with every checkpoint.
"""

import os
import struct
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.datasets import places
from moxing.tensorflow.datasets.base import shuffle_seed, workers
from moxing.tensorflow.datasets.mapping import mapped

_NUMBER = struct.Struct("<q")
_TO_THE_END = 1 << 30
_AT_ONCE = 128


def listing(
    files: Sequence[tuple[str, int]],
    *,
    shuffle: bool,
    buffer_size: int,
    num_epochs: int | None,
    shard: bool,
    locate: Callable[[tf.Tensor, tf.Tensor], dict[str, tf.Tensor]],
) -> Any:
    """Return a data set of what ``locate`` says of each file, in each epoch.

    ``locate`` gets many names, relative to the data set's folder, and numbers at once: small
    operations cost more by themselves than by what they do.
    """
    own = share(files, shard)
    path = places.scratch_file(tf.get_default_graph())
    with tf.io.TFRecordWriter(path) as writer:
        for name, number in own:
            writer.write(_NUMBER.pack(number) + os.fsencode(name))
    records = tf.data.TFRecordDataset(path)
    records = records.apply(tf.data.experimental.assert_cardinality(len(own)))
    if shuffle:
        # A buffer of the whole list costs little: names, not images.
        records = records.shuffle(max(len(own), buffer_size, 1), seed=shuffle_seed())
    many = records.repeat(num_epochs).batch(_AT_ONCE)
    return mapped(many, lambda chunk: locate(*_split(chunk))).unbatch()


def share(files: Sequence[Any], shard: bool) -> Sequence[Any]:
    """Return the files of this worker where they are shared out, else all of them."""
    count, index = workers(shard)
    return files[index::count]


def _split(records: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    numbers = tf.io.decode_raw(tf.strings.substr(records, 0, _NUMBER.size), tf.int64)
    return tf.strings.substr(records, _NUMBER.size, _TO_THE_END), tf.reshape(numbers, [-1])


def base_names(paths: tf.Tensor) -> tf.Tensor:
    return tf.strings.regex_replace(paths, "(?s).*/", "")


def as_bytes(names: Sequence[str]) -> tf.Tensor:
    """Return names of files, whatever their bytes are, as a vector of the graph."""
    return tf.constant([os.fsencode(name) for name in names], tf.string)
