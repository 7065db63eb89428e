"""Reading checkpoints, with the argument names ``tf.contrib.framework`` had for them."""

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v1 as tf


def load_checkpoint(filepattern: str) -> Any:
    """Return a reader of the checkpoint, or of the latest one of a directory."""
    return tf.train.load_checkpoint(filepattern)


def load_variable(checkpoint_dir: str, name: str) -> Any:
    """Return the value of a variable as an array; ``name`` may end in ``:0``."""
    return tf.train.load_variable(checkpoint_dir, name)


def list_variables(checkpoint_dir: str) -> list[tuple[str, list[int]]]:
    """Return name and shape of all variables, sorted by name."""
    return tf.train.list_variables(checkpoint_dir)


def init_from_checkpoint(checkpoint_dir: str, assignment_map: Mapping[str, Any]) -> None:
    """Make the initializers of variables read a checkpoint."""
    tf.train.init_from_checkpoint(checkpoint_dir, assignment_map)
