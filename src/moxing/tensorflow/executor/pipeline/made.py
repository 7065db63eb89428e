"""What either way of making batches hands back."""

from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf


@dataclass(frozen=True)
class Made:
    """The values of each clone, in the order of ``Inputs.values``; the rest as in ``Batches``."""

    per_clone: list[list[Any]]
    initializer: tf.Operation | None = None
    left_over: tf.Tensor | None = None
