"""`tf.contrib.data`: data sets and their transformations, as they were before `tf.data`.

Most became `tf.data.experimental` under the same name.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.python.data.util import nest  # a list is one shape here

_x = tf.data.experimental

AUTOTUNE = _x.AUTOTUNE
Counter = _x.Counter
CsvDataset = _x.CsvDataset
Dataset = tf.data.Dataset
FixedLengthRecordDataset = tf.data.FixedLengthRecordDataset
Iterator = tf.data.Iterator
Optional = _x.Optional
RandomDataset = _x.RandomDataset
Reducer = _x.Reducer
SqlDataset = _x.SqlDataset
TFRecordDataset = tf.data.TFRecordDataset
TFRecordWriter = _x.TFRecordWriter
TextLineDataset = tf.data.TextLineDataset
bucket_by_sequence_length = _x.bucket_by_sequence_length
choose_from_datasets = _x.choose_from_datasets
copy_to_device = _x.copy_to_device
dense_to_sparse_batch = _x.dense_to_sparse_batch
enumerate_dataset = _x.enumerate_dataset
get_next_as_optional = _x.get_next_as_optional
get_single_element = _x.get_single_element
group_by_reducer = _x.group_by_reducer
group_by_window = _x.group_by_window
ignore_errors = _x.ignore_errors
make_batched_features_dataset = _x.make_batched_features_dataset
make_csv_dataset = _x.make_csv_dataset
make_saveable_from_iterator = _x.make_saveable_from_iterator
map_and_batch = _x.map_and_batch
parallel_interleave = _x.parallel_interleave
parse_example_dataset = _x.parse_example_dataset
prefetch_to_device = _x.prefetch_to_device
rejection_resample = _x.rejection_resample
sample_from_datasets = _x.sample_from_datasets
scan = _x.scan
shuffle_and_repeat = _x.shuffle_and_repeat
unbatch = _x.unbatch
unique = _x.unique

_STATS = "removed.data_stats"
GONE = {
    "CheckpointInputPipelineHook": "removed.input_checkpoint",
    "LMDBDataset": "removed.lmdb",
    "StatsAggregator": _STATS,
    "bytes_produced_stats": _STATS,
    "latency_stats": _STATS,
    "set_stats_aggregator": _STATS,
}

Transformation = Callable[[Any], Any]


def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Return batches of exactly that size; the last rows are dropped."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Return padded batches of exactly that size; the last rows are dropped."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sloppy_interleave(map_func: Any, cycle_length: int, block_length: int = 1) -> Transformation:
    """Return the rows of several data sets in turns; one that is slow is not waited for."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Return the same rows, each checked to have the shapes; None in a shape fits any size."""

    def check(dataset: Any) -> Any:
        given = tf.data.get_output_shapes(dataset)
        nest.assert_same_structure(expected_shapes, given)

        def checked(*row: Any) -> Any:
            values = row if len(row) > 1 else row[0]
            return nest.map_structure(_with_shape, values, expected_shapes)

        return dataset.map(checked)

    return check


def _with_shape(tensor: Any, expected: Any) -> Any:
    expected = tf.TensorShape(expected)
    if not tensor.shape.is_compatible_with(expected):
        raise ValueError(f"The shape {tensor.shape} is not compatible with {expected}.")
    if expected.rank is None:
        return tensor
    checks = [tf.assert_rank(tensor, expected.rank)]
    for axis, size in enumerate(expected.as_list()):
        if size is not None:
            checks.append(tf.assert_equal(tf.shape(tensor)[axis], size))
    with tf.control_dependencies(checks):
        tensor = tf.identity(tensor)
    tensor.set_shape(expected)
    return tensor


def reduce_dataset(dataset: Any, reducer: Any) -> Any:
    """Return the result of a `Reducer` over all rows."""
    state = reducer.init_func(tf.constant(0, tf.int64))
    return reducer.finalize_func(dataset.reduce(state, reducer.reduce_func))


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = tf.data.TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """Return the tensors of the next batch of parsed features."""
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return tf.data.make_one_shot_iterator(dataset).get_next()
