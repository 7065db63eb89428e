"""`tf.contrib.learn.io`: input of estimators."""

from danlu_runtime.tf1.contrib.learn.io.frames import (
    HAS_DASK,
    HAS_PANDAS,
    extract_dask_data,
    extract_dask_labels,
    extract_pandas_data,
    extract_pandas_labels,
    extract_pandas_matrix,
)
from danlu_runtime.tf1.contrib.learn.io.graph_io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)
from danlu_runtime.tf1.estimator import public

__all__ = [
    "HAS_DASK",
    "HAS_PANDAS",
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
    "numpy_input_fn",
    "pandas_input_fn",
    "queue_parsed_features",
    "read_batch_examples",
    "read_batch_features",
    "read_batch_record_features",
    "read_keyed_batch_examples",
    "read_keyed_batch_features",
]

_SHARED = "Use it without _shared_queue; each worker then reads all files, shuffled."
GONE = {
    "read_keyed_batch_examples_shared_queue": _SHARED,
    "read_keyed_batch_features_shared_queue": _SHARED,
    "generator_input_fn": "Use tf.data.Dataset.from_generator in an input_fn.",
    "setup_train_data_feeder": "Pass x and y to fit(), or an input_fn.",
}

numpy_input_fn = public().inputs.numpy_input_fn
pandas_input_fn = public().inputs.pandas_input_fn
