"""Which parameter server a variable goes to: strategies for ``tf.train.replica_device_setter``."""

import hashlib
from collections.abc import Callable

import numpy as np
import tensorflow.compat.v1 as tf


class RandomStrategy:
    """By a hash of the operation's name: the same in every process, whatever the order."""

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: tf.Operation) -> int:
        digest = hashlib.md5(f"{op.name}_{self._seed:d}".encode()).hexdigest()
        return int(digest, 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Each to the task that carries least so far."""

    def __init__(self, num_tasks: int, load_fn: Callable[[tf.Operation], float]) -> None:
        self._load_fn = load_fn
        self._ps_loads = np.zeros(num_tasks)

    def __call__(self, op: tf.Operation) -> int:
        task = int(np.argmin(self._ps_loads))
        self._ps_loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: tf.Operation) -> int:
    """Return the bytes of an operation's only output, whose shape must be known."""
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.get_shape()
    if not shape.is_fully_defined():
        # A variable's own shape is known where that of its reference is not.
        shape = tf.TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return shape.num_elements() * output.dtype.size
