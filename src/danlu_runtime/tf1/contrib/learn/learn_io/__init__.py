"""`tf.contrib.learn.io`: input of estimators."""

from typing import Any

import numpy as np
import pandas as pd

from danlu_runtime.tf1.contrib.learn.learn_io.graph_io import (
    queue_parsed_features,
    read_batch_examples,
    read_batch_features,
    read_batch_record_features,
    read_keyed_batch_examples,
    read_keyed_batch_features,
)
from danlu_runtime.tf1.estimator import public

# `tf.contrib.learn.io`, frames: what pandas and dask hold, as matrices of numbers.


HAS_PANDAS = True
PANDAS_DTYPES = dict.fromkeys(("int8", "int16", "int32", "int64"), "int")
PANDAS_DTYPES |= dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "int")
PANDAS_DTYPES |= {"float16": "float", "float32": "float", "float64": "float", "bool": "i"}

try:
    import dask.dataframe as _dask
except ImportError:  # dask is the user's to install
    _dask = None
HAS_DASK = _dask is not None


def extract_pandas_data(data: Any) -> Any:
    """Return a frame as a matrix of floats; anything else as it is."""
    if not isinstance(data, pd.DataFrame):
        return data
    wrong = [name for name, dtype in data.dtypes.items() if dtype.name not in PANDAS_DTYPES]
    if wrong:
        raise ValueError(
            f"Data types for extracting pandas data must be int, float, or bool; {wrong} are not."
        )
    return data.to_numpy().astype("float")


def extract_pandas_matrix(data: Any) -> Any:
    """Return the values of a frame; anything else as it is."""
    return data.to_numpy() if isinstance(data, pd.DataFrame) else data


def extract_pandas_labels(labels: Any) -> Any:
    """Return labels of one column as an array of numbers; anything but pandas as it is."""
    if isinstance(labels, pd.DataFrame):
        if len(labels.columns) > 1:
            raise ValueError(
                f"Only one column for labels is allowed, this frame has {list(labels.columns)}."
            )
        wrong = [name for name, dtype in labels.dtypes.items() if dtype.name not in PANDAS_DTYPES]
        if wrong:
            raise ValueError(f"Data types for labels must be int, float, or bool; {wrong} is not.")
        return labels.to_numpy()
    return labels.to_numpy() if isinstance(labels, pd.Series) else labels


def extract_dask_data(data: Any) -> Any:
    """Return the values of a dask frame; anything else as it is."""
    if _dask is not None and isinstance(data, _dask.DataFrame | _dask.Series):
        return np.asarray(data.compute())
    return data


def extract_dask_labels(labels: Any) -> Any:
    """Return the labels of a dask frame; anything else as it is."""
    if _dask is not None and isinstance(labels, _dask.DataFrame) and len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return extract_dask_data(labels)


_SHARED = "removed.shared_queue"
GONE = {
    "read_keyed_batch_examples_shared_queue": _SHARED,
    "read_keyed_batch_features_shared_queue": _SHARED,
    "generator_input_fn": "removed.generator_input",
    "setup_train_data_feeder": "removed.data_feeder",
}

numpy_input_fn = public().inputs.numpy_input_fn
pandas_input_fn = public().inputs.pandas_input_fn
