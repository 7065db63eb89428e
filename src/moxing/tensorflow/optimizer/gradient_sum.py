"""Gradients of one variable, added up over steps."""

from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.workers import Workers


class GradientSum:
    """A sum that stays sparse if the gradient is: only rows that were touched are given back."""

    def __init__(self, gradient: Any, variable: Any, workers: Workers, name: str) -> None:
        shape, dtype = variable.shape, variable.dtype.base_dtype
        if not shape.is_fully_defined():
            raise ValueError(
                f"Gradients of {variable.op.name} cannot be added up: its shape {shape} is not "
                "known. Give it a shape when it is made."
            )
        path = f"{variable.op.name}/{name}"
        self._dense_shape = shape.as_list()
        self._sum = workers.own_variable(path, variable, lambda: tf.zeros(shape, dtype))
        self._rows: tf.Variable | None = None
        if isinstance(gradient, tf.IndexedSlices):
            self._rows = workers.own_variable(
                f"{path}_rows", variable, lambda: tf.zeros([shape.as_list()[0]], tf.bool)
            )

    def add(self, gradient: Any) -> list[tf.Operation]:
        if self._rows is None:
            return [self._sum.assign_add(tf.convert_to_tensor(gradient)).op]
        indices = gradient.indices
        seen = tf.IndexedSlices(tf.ones(tf.shape(indices), tf.bool), indices)
        return [self._sum.scatter_add(gradient).op, self._rows.scatter_update(seen).op]

    def mean(self, count: int) -> Any:
        """Return the sum divided by ``count``."""
        share = tf.cast(count, self._sum.dtype.base_dtype)
        if self._rows is None:
            return self._sum.read_value() / share
        rows = tf.where(self._rows.read_value())[:, 0]
        shape = tf.constant(self._dense_shape, tf.int64)
        return tf.IndexedSlices(self._sum.sparse_read(rows) / share, rows, shape)

    def clear(self) -> list[tf.Operation]:
        both = (self._sum, self._rows)
        return [each.assign(tf.zeros_like(each)).op for each in both if each is not None]
