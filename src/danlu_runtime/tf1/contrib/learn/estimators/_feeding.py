"""Turns the `x` and `y` of `fit(x, y)` into an `input_fn`: arrays, frames, lists, iterators."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

InputFn = Callable[[], Any]
# A bound on one shuffle; rows beyond it are still all seen, only less mixed.
_LARGEST_FULL_BATCH = 1 << 31


def input_fn_of(
    x: Any, y: Any, batch_size: int | None, shuffle: bool, epochs: int | None
) -> InputFn:
    """Return an `input_fn` over rows of `x`; without a batch size a batch is all rows."""
    if hasattr(x, "__next__"):
        return _streamed(x, y, batch_size)
    features = _arrays(x)
    labels = None if y is None else _arrays(y)
    count = _rows(features)
    if labels is not None and _rows(labels) != count:
        raise ValueError(f"x and y must have as many rows: x has {count}, y has {_rows(labels)}.")
    size = min(batch_size or count, _LARGEST_FULL_BATCH)

    def batches() -> Iterator[Any]:
        epoch = 0
        while epochs is None or epoch < epochs:
            order = np.random.permutation(count) if shuffle else np.arange(count)
            for start in range(0, count, size):
                rows = order[start : start + size]
                batch = _take(features, rows)
                yield batch if labels is None else (batch, _take(labels, rows))
            epoch += 1

    return _dataset_fn(batches, features, labels)


def _dataset_fn(batches: Callable[[], Iterator[Any]], features: Any, labels: Any) -> InputFn:
    sample = features if labels is None else (features, labels)
    types = tf.nest.map_structure(lambda array: tf.as_dtype(_dtype(array)), sample)
    shapes = tf.nest.map_structure(lambda array: tf.TensorShape([None, *array.shape[1:]]), sample)

    def input_fn() -> Any:
        return tf.data.Dataset.from_generator(batches, types, shapes)

    return input_fn


def _streamed(x: Any, y: Any, batch_size: int | None) -> InputFn:
    """Rows of iterators; they are read once, so only one pass can be had."""
    first = next(x)
    first_label = None if y is None else next(y)
    size = batch_size or 1

    def rows() -> Iterator[Any]:
        yield first if y is None else (first, first_label)
        yield from x if y is None else zip(x, y, strict=False)

    def batches() -> Iterator[Any]:
        held: list[Any] = []
        for row in rows():
            held.append(row)
            if len(held) == size:
                yield _stacked(held, y is not None)
                held = []
        if held:
            yield _stacked(held, y is not None)

    features, labels = _arrays([first]), None if y is None else _arrays([first_label])
    return _dataset_fn(batches, features, labels)


def _stacked(held: list[Any], labelled: bool) -> Any:
    if not labelled:
        return _arrays(held)
    features, labels = zip(*held, strict=True)
    return _arrays(list(features)), _arrays(list(labels))


def _arrays(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _array(item) for key, item in value.items()}
    return _array(value)


def _array(value: Any) -> np.ndarray[Any, Any]:
    # Frames and series know their values; older pandas spelled it get_values().
    value = value.to_numpy() if hasattr(value, "to_numpy") else value
    array = np.asarray(value)
    # pandas hands text and mixed numbers over as objects.
    if array.dtype == object:
        array = np.array(array.tolist())
    return array


def _dtype(array: np.ndarray[Any, Any]) -> Any:
    return np.dtype("S") if array.dtype.kind in "US" else array.dtype


def _rows(arrays: Any) -> int:
    return len(tf.nest.flatten(arrays)[0])


def _take(arrays: Any, rows: np.ndarray[Any, Any]) -> Any:
    if isinstance(arrays, dict):
        return {key: array[rows] for key, array in arrays.items()}
    return arrays[rows]
