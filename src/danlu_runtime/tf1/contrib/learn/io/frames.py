"""`tf.contrib.learn.io`, frames: what pandas and dask hold, as matrices of numbers."""

from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "HAS_DASK",
    "HAS_PANDAS",
    "PANDAS_DTYPES",
    "extract_dask_data",
    "extract_dask_labels",
    "extract_pandas_data",
    "extract_pandas_labels",
    "extract_pandas_matrix",
]

HAS_PANDAS = True
PANDAS_DTYPES = dict.fromkeys(("int8", "int16", "int32", "int64"), "int")
PANDAS_DTYPES |= dict.fromkeys(("uint8", "uint16", "uint32", "uint64"), "int")
PANDAS_DTYPES |= {"float16": "float", "float32": "float", "float64": "float", "bool": "i"}

try:
    import dask.dataframe as dd
except ImportError:  # dask is the user's to install
    dd = None
HAS_DASK = dd is not None


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
    if dd is not None and isinstance(data, dd.DataFrame | dd.Series):
        return np.asarray(data.compute())
    return data


def extract_dask_labels(labels: Any) -> Any:
    """Return the labels of a dask frame; anything else as it is."""
    if dd is not None and isinstance(labels, dd.DataFrame) and len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return extract_dask_data(labels)
