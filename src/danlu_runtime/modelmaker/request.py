"""A batch of the data as a request to the model: what each of its inputs is fed."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

_PARSES_EXAMPLES = re.compile(r"Parse\w*Example\w*")


def feeds(inputs: Mapping[str, Any], batch: Any, graph: Any) -> dict[Any, Any] | None:
    """Return what to feed for a batch of features.

    ``inputs`` are those of a signature. None: they and the features have nothing to do with each
    other, as where pictures are to be sent as files and the data has their points.
    """
    features = _named(inputs, batch)
    if features is None:
        return None
    if _is_serialized(inputs, features, graph):
        (info,) = inputs.values()
        return {graph.get_tensor_by_name(info.name): list(_examples(features))}
    if len(inputs) == len(features) == 1:  # the receiver of a single tensor has a name of its own
        features = dict(zip(inputs, features.values(), strict=True))
    if not all(name in features and _alike(info, features[name]) for name, info in inputs.items()):
        return None
    found: dict[Any, Any] = {}
    for name, info in inputs.items():
        found.update(_fed(graph, info, features[name]))
    return found


def _named(inputs: Mapping[str, Any], batch: Any) -> Mapping[str, Any] | None:
    if isinstance(batch, dict):
        return batch
    if isinstance(batch, np.ndarray | tf.SparseTensorValue):
        return dict.fromkeys(inputs, batch)
    return None


def _is_serialized(inputs: Mapping[str, Any], features: Mapping[str, Any], graph: Any) -> bool:
    """Tell whether the one input takes examples as TensorFlow writes them."""
    if len(inputs) != 1:
        return False
    ((name, info),) = inputs.items()
    if name in features or not info.name or tf.as_dtype(info.dtype) != tf.string:
        return False
    written = graph.as_graph_def()
    nodes = [*written.node, *(node for one in written.library.function for node in one.node_def)]
    return any(_PARSES_EXAMPLES.fullmatch(node.op) for node in nodes)


def _alike(info: Any, value: Any) -> bool:
    """Tell whether both are texts, or both numbers."""
    return bool((tf.as_dtype(info.dtype) == tf.string) == (_values(value).dtype.kind in "SUO"))


def _values(value: Any) -> Any:
    return np.asarray(value.values if isinstance(value, tf.SparseTensorValue) else value)


def _fed(graph: Any, info: Any, value: Any) -> Mapping[Any, Any]:
    if isinstance(value, tf.SparseTensorValue):
        sparse = info.coo_sparse
        parts = (sparse.indices_tensor_name, sparse.values_tensor_name)
        names = (*parts, sparse.dense_shape_tensor_name)
        return {graph.get_tensor_by_name(name): one for name, one in zip(names, value, strict=True)}
    shape = info.tensor_shape
    # A receiver may take one example at a time.
    single = not shape.unknown_rank and shape.dim and shape.dim[0].size == 1
    return {graph.get_tensor_by_name(info.name): value[:1] if single else value}


def _examples(features: Mapping[str, Any]) -> Iterator[bytes]:
    columns = {name: _rows(value) for name, value in features.items()}
    for row in range(min(map(len, columns.values()))):
        feature = {name: _feature(rows[row]) for name, rows in columns.items()}
        yield tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def _rows(value: Any) -> Any:
    """Return the values of each example."""
    if not isinstance(value, tf.SparseTensorValue):
        return value
    of_row = np.asarray(value.indices)[:, 0]
    return [np.asarray(value.values)[of_row == row] for row in range(value.dense_shape[0])]


def _feature(value: Any) -> Any:
    flat = np.ravel(value)
    if flat.dtype.kind in "SUO":
        texts = [one if isinstance(one, bytes) else str(one).encode() for one in flat]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=texts))
    if flat.dtype.kind in "iub":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=flat.astype("int64")))
    return tf.train.Feature(float_list=tf.train.FloatList(value=flat.astype("float32")))
