"""Errors of a running graph, with the messages of TensorFlow 1.15.

A message begins with the sentence of the operation that failed; scripts compare it. TensorFlow 2
begins it with "Graph execution error:" and the stack of each node. ``str`` of an error appends the
stack of one node, in both.
"""

import os
import re
from typing import Any

_FRAMEWORK = os.path.join("tensorflow", "python", "")
_TAG = re.compile(r"\{\{(?P<kind>\w+) (?P<name>[^ {}]+)\}\}")
# "(0) INVALID_ARGUMENT: …", where several operations of a step fail.
_CODE = re.compile(r"(?<=\n  \(\d\) )(?P<code>[A-Z]+(?:_[A-Z]+)*)(?=: )")


def restore() -> None:
    """Use these messages for the errors of sessions; a second call is harmless."""
    from tensorflow.python.framework import error_interpolation

    error_interpolation.interpolate_graph = _message


def _message(text: str, graph: Any) -> str:
    """Return the message of an error, with the place in the code of each node that it names."""

    def named(tag: re.Match[str]) -> str:
        if tag["kind"] == "function_node":
            return ""
        return (
            f"{tag['kind'].removeprefix('colocation_')} {tag['name']}{_place(tag['name'], graph)}"
        )

    message = _CODE.sub(lambda code: code["code"].capitalize().replace("_", " "), text)
    return _TAG.sub(named, message).strip()


def _place(name: str, graph: Any) -> str:
    try:
        operation = graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return ""  # such as a node of a function or of the runtime
    if operation.traceback is None:
        return ""
    frames = list(operation.traceback.get_user_frames()) or list(operation.traceback)
    own = [frame for frame in frames if _FRAMEWORK not in frame.filename]
    if not frames:
        return ""
    frame = (own or frames)[-1]
    return f" (defined at {frame.filename}:{frame.lineno}) "
