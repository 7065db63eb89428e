"""Asks an exported model for one answer, as whoever deploys it will."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from danlu_runtime.graph_errors import brief
from danlu_runtime.modelmaker.request import feeds
from danlu_runtime.modelmaker.versions import newest
from danlu_runtime.notes import say

_SIGNATURE = tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def ask(folder: str, batch: Any) -> None:
    """Load the newest version below ``folder`` and give it the batch; say what came of it."""
    version = newest(folder)
    if not version:
        say("no model was exported: there was no checkpoint to export")
        return
    with tf.Graph().as_default(), tf.Session() as session:
        serving = [tf.saved_model.tag_constants.SERVING]
        loaded = tf.saved_model.loader.load(session, serving, version)
        name = _signature(version, loaded.signature_def)
        if name:
            say(f"{version}: {_answer(session, name, loaded.signature_def[name], batch)}")


def _answer(session: Any, name: str, signature: Any, batch: Any) -> str:
    outputs = {one: info.name for one, info in signature.outputs.items()}
    # The request is a guess of ours: a model that does not take it may well take another.
    try:
        fed = feeds(signature.inputs, batch, session.graph)
        if fed is None:
            wanted = ", ".join(sorted(signature.inputs))
            return f"loaded; its inputs ({wanted}) are not the features of the data"
        answer = session.run(outputs, fed)
    except Exception as error:
        return f"loaded; {name} does not take a batch of eval_input_fn: {first_line(error)}"
    shown = ", ".join(f"{one} {list(np.shape(value))}" for one, value in sorted(answer.items()))
    return f"the exported model answers {name}: {shown}"


def first_line(error: Exception) -> str:
    """Return what an error says first: TensorFlow's go on for pages."""
    said = brief(str(error), lambda file, line: "").strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


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
