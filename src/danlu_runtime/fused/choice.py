"""Whether a training is compiled by XLA: asked for, kept beside its checkpoints.

A training that goes on goes on as it began: its numbers would change in the last digits otherwise.
"""

import json
import os

import tensorflow.compat.v1 as tf

from danlu_runtime.notes import say

VARIABLE = "DANLU_XLA"
FILE = "danlu-steps.json"
_WORDS = {"1": True, "0": False, "": False}


def is_asked() -> bool:
    """Tell what the environment says.

    Raises:
        SystemExit: it says neither yes nor no.
    """
    text = os.environ.get(VARIABLE, "")
    if text not in _WORDS:
        raise SystemExit(f"{VARIABLE}: must be 1 (compile with XLA) or 0, got {text!r}.")
    return _WORDS[text]


def chosen(folder: str, *, has_checkpoint: bool) -> bool:
    """Return how the training in ``folder`` is made: as it began, or as it is asked for."""
    asked = is_asked()
    began = _read(folder) if has_checkpoint else None
    if began is None or began == asked:
        return asked
    how, other = ("with", "without") if began else ("without", "with")
    say(f"training goes on {how} XLA, as it began; a new folder would begin {other} it")
    return began


def keep(folder: str, xla: bool) -> None:
    """Remember how the training in ``folder`` is made; whole or not at all.

    A folder may be a URL, as that of checkpoints: TensorFlow writes to it.
    """
    tf.gfile.MakeDirs(folder)
    path = os.path.join(folder, FILE)
    with tf.gfile.GFile(f"{path}.new", "w") as file:
        file.write(json.dumps({"xla": xla}))
    tf.gfile.Rename(f"{path}.new", path, overwrite=True)


def _read(folder: str) -> bool | None:
    try:
        with tf.gfile.GFile(os.path.join(folder, FILE)) as file:
            return bool(json.loads(file.read())["xla"])
    except (tf.errors.OpError, ValueError, KeyError, TypeError):
        return None
