"""The values of every step of a call, for who looks at some of them afterwards.

A variable has a row for each step: its values and, last, when it was done (below 0: not known; 0:
it was not). It is there after a call that ends with the data, too: the steps before that were made.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import tensorflow.compat.v1 as tf

from danlu_runtime.fused.copies import entered


class _Array(Protocol):
    def __getitem__(self, at: Any) -> Any: ...


KIND = tf.float64  # holds every number of 32 bits, and every step, exactly


def can_be_kept(values: Sequence[tf.Tensor]) -> bool:
    """Tell whether all of them are single numbers."""
    return all(
        each.shape.rank == 0
        and (each.dtype.is_floating or each.dtype.is_integer or each.dtype.is_bool)
        for each in values
    )


class Trail:
    """``handle`` is that of the variable; ``read`` its value, at any time after a first call."""

    def __init__(self, steps: int, values: int) -> None:
        self.shape = [steps, values + 1]
        name = tf.get_default_graph().unique_name("trail")
        self.handle = tf.raw_ops.VarHandleOp(dtype=KIND, shape=self.shape, shared_name=name)
        self.read = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=KIND)
        self.after = self.read  # its value after a call, to be fetched with its values

    def cleared(self, asked: tf.Tensor) -> tf.Tensor:
        """Return how many steps are asked for, after the trail of others is wiped out."""
        nothing = tf.zeros(self.shape, KIND)
        wiped = tf.raw_ops.AssignVariableOp(resource=self.handle, value=nothing)
        with tf.control_dependencies([wiped]):
            return tf.identity(asked)

    def add(self, at: tf.Tensor, rows: Any) -> tf.Operation:
        """Keep the rows of the steps from ``at`` on."""
        (inside,) = entered([self.handle]).values()
        rows = tf.convert_to_tensor(rows)
        return tf.raw_ops.ResourceScatterUpdate(
            resource=inside, indices=at + tf.range(tf.shape(rows)[0]), updates=rows
        )

    def follows(self, done: tf.Tensor) -> None:
        """Be read after a call, of which ``done`` is a result."""
        with tf.control_dependencies([done.op]):
            self.after = tf.raw_ops.ReadVariableOp(resource=self.handle, dtype=KIND)


def row_of(values: Sequence[tf.Tensor], at: tf.Tensor) -> tf.Tensor:
    """Return what is kept of a step that was done at a time."""
    return tf.stack([*(tf.cast(each, KIND) for each in values), at])


def made(rows: _Array) -> int:
    """Return of how many steps there is a trail."""
    return sum(1 for each in rows[:, -1] if each)


def times(rows: _Array, began: float, ended: float) -> list[float]:
    """Return when each step of a call was done, on the clock of ``began`` and ``ended``.

    A compiled step does not tell: all of one program are taken to be equally long.
    """
    steps = made(rows)
    told = [float(each) for each in rows[:steps, -1]]
    if any(each < 0 for each in told):
        return [began + (ended - began) * (step + 1) / steps for step in range(steps)]
    return [min(max(ended - (told[-1] - each), began), ended) for each in told]
