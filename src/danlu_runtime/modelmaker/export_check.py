"""Sends one request to an exported model, as a client of a deployed model would."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from danlu.messages import get_message
from danlu_runtime.reports.failure import brief
from danlu_runtime.reports.notes import print_message

_PARSES_EXAMPLES = re.compile(r"Parse\w*Example\w*")


def feeds(inputs: Mapping[str, Any], batch: Any, graph: Any) -> dict[Any, Any] | None:
    """Return the feeds for a batch of features.

    ``inputs`` are the inputs of a signature. None means that the inputs and the features are
    unrelated, for example images sent as files and features with pixel values.
    """
    features = _named(inputs, batch)
    if features is None:
        return None
    if _is_serialized(inputs, features, graph):
        (info,) = inputs.values()
        return {graph.get_tensor_by_name(info.name): list(_examples(features))}
    if len(inputs) == len(features) == 1:  # the receiver of a single tensor uses its own name
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
    """Return True if the only input takes serialized tf.train.Example messages."""
    if len(inputs) != 1:
        return False
    ((name, info),) = inputs.items()
    if name in features or not info.name or tf.as_dtype(info.dtype) != tf.string:
        return False
    written = graph.as_graph_def()
    nodes = [*written.node, *(node for one in written.library.function for node in one.node_def)]
    return any(_PARSES_EXAMPLES.fullmatch(node.op) for node in nodes)


def _alike(info: Any, value: Any) -> bool:
    """Return True if both are strings or both are numbers."""
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


def newest(folder: str) -> str:
    """Return the directory of the newest version below ``folder``, "" if there is none."""
    found = versions(folder)
    return os.path.join(folder, max(found, key=int)) if found else ""


def versions(folder: str) -> list[str]:
    """Return the names of all versions below ``folder``, which need not exist."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [name for name in names if name.isdecimal()]


_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def check_export(folder: str, batch: Any) -> None:
    """Load the newest version below ``folder``, run it on the batch and report the result."""
    version = newest(folder)
    if not version:
        print_message(get_message("modelmaker.no_export"))
        return
    with tf.Graph().as_default(), tf.Session() as session:
        serving = [tf.saved_model.tag_constants.SERVING]
        loaded = tf.saved_model.loader.load(session, serving, version)
        name = _signature(version, loaded.signature_def)
        if name:
            print_message(f"{version}: {_answer(session, name, loaded.signature_def[name], batch)}")


def _answer(session: Any, name: str, signature: Any, batch: Any) -> str:
    outputs = {one: info.name for one, info in signature.outputs.items()}
    # The request is a guess. A model that rejects it may accept another.
    try:
        fed = feeds(signature.inputs, batch, session.graph)
        if fed is None:
            wanted = ", ".join(sorted(signature.inputs))
            return get_message("modelmaker.other_inputs", wanted=wanted)
        answer = session.run(outputs, fed)
    except Exception as error:
        return get_message("modelmaker.batch_refused", name=name, error=first_line(error))
    shown = ", ".join(f"{one} {list(np.shape(value))}" for one, value in sorted(answer.items()))
    return get_message("modelmaker.answers", name=name, shown=shown)


def first_line(error: Exception) -> str:
    """Return the first line of an error message; TensorFlow's messages are long."""
    lines = brief(str(error), lambda file, line: "").strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _signature(folder: str, found: Mapping[str, Any]) -> str:
    """Return the signature to call.

    An export leaves out signatures that its inputs cannot serve.
    """
    if _SIGNATURE in found:
        return _SIGNATURE
    others = sorted(found)
    names = ", ".join(others) or get_message("fault.none")
    print_message(
        get_message("modelmaker.no_signature", folder=folder, signature=_SIGNATURE, names=names)
    )
    return others[0] if others else ""
