"""Asks an exported model for one answer, as whoever deploys it will."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from danlu_runtime.notes import say

_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def ask(folder: str, batch: Any) -> None:
    """Load the newest version below ``folder`` and give it the batch; say what came of it."""
    newest = _newest(folder)
    if not newest:
        say("no model was exported: there was no evaluation, or no checkpoint to export")
        return
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], newest)
        name = _signature(newest, loaded.signature_def)
        if not name:
            return
        signature = loaded.signature_def[name]
        feeds = _feeds(signature.inputs, batch, session.graph)
        if feeds is None:
            wanted = ", ".join(sorted(signature.inputs))
            say(f"{newest}: loaded; its inputs ({wanted}) are not the features of the data")
            return
        outputs = {name: info.name for name, info in signature.outputs.items()}
        answer = session.run(outputs, feeds)
    shown = ", ".join(f"{one} {list(np.shape(value))}" for one, value in sorted(answer.items()))
    say(f"{newest}: the exported model answers {name}: {shown}")


def _signature(folder: str, found: Mapping[str, Any]) -> str:
    """Return the signature to ask. An export leaves out those that its inputs cannot serve."""
    if _SIGNATURE in found:
        return _SIGNATURE
    others = sorted(found)
    left = f"it has {', '.join(others)}" if others else "it has no other"
    say(
        f"{folder}: the exported model has no {_SIGNATURE}; {left}. Classification and regression, "
        "which the heads of TensorFlow's own estimators answer by default, take one text: return "
        "tf.estimator.export.build_parsing_serving_input_receiver_fn in "
        "serving_input_receiver_fn, or name the signature in requests"
    )
    return others[0] if others else ""


def _newest(folder: str) -> str:
    versions = [name for name in _names(folder) if name.isdecimal()]
    return os.path.join(folder, max(versions, key=int)) if versions else ""


def _names(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def _feeds(inputs: Any, batch: Any, graph: Any) -> Mapping[Any, Any] | None:
    """Return what to feed; None where inputs and data have nothing to do with each other."""
    features = batch if isinstance(batch, dict) else {name: batch for name in inputs}
    if _is_serialized(inputs, features):
        (info,) = inputs.values()
        return {graph.get_tensor_by_name(info.name): _examples(features)}
    if len(inputs) == len(features) == 1:  # the receiver of a single tensor has a name of its own
        features = dict(zip(inputs, features.values(), strict=True))
    if not set(inputs) <= set(features):
        return None
    return {
        graph.get_tensor_by_name(info.name): _fitting(features[name], info)
        for name, info in inputs.items()
    }


def _is_serialized(inputs: Any, features: Mapping[str, Any]) -> bool:
    """Tell whether the one input takes examples as TensorFlow writes them."""
    if len(inputs) != 1:
        return False
    ((name, info),) = inputs.items()
    return name not in features and tf.as_dtype(info.dtype) == tf.string


def _fitting(value: Any, info: Any) -> Any:
    """A receiver may take one example at a time."""
    shape = info.tensor_shape
    if not shape.unknown_rank and shape.dim and shape.dim[0].size == 1:
        return value[:1]
    return value


def _examples(features: Mapping[str, Any]) -> list[bytes]:
    rows = len(next(iter(features.values())))
    return [
        tf.train.Example(
            features=tf.train.Features(
                feature={name: _feature(values[row]) for name, values in features.items()}
            )
        ).SerializeToString()
        for row in range(rows)
    ]


def _feature(value: Any) -> Any:
    flat = np.ravel(value)
    if flat.dtype.kind in "SUO":
        texts = [one if isinstance(one, bytes) else str(one).encode() for one in flat]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=texts))
    if flat.dtype.kind in "iub":
        return tf.train.Feature(int64_list=tf.train.Int64List(value=flat.astype("int64")))
    return tf.train.Feature(float_list=tf.train.FloatList(value=flat.astype("float32")))
