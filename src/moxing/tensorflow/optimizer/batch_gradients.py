"""Accumulation of gradients over several steps, for batches larger than memory."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.workers import Exchange, Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs, counted
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


class GradientSum:
    """A sum of gradients; for sparse gradients it is sparse and has only the rows added."""

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


class BatchGradientsWrapper(OptimizerWrapper):
    """Adds gradients up for ``num_batches`` steps, then applies their mean.

    The global step counts every step. With several workers and ``--sync_replicas=False`` each one
    adds up its own; with ``sync_on_apply`` they wait for each other and apply one mean.
    """

    def __init__(self, optimizer: Any, num_batches: int, sync_on_apply: bool = True) -> None:
        super().__init__(optimizer, "BatchGradients")
        if isinstance(num_batches, bool) or int(num_batches) != num_batches or num_batches < 1:
            raise ValueError(
                f"num_batches of batch_gradients must be a whole number above 0, got "
                f"{num_batches!r}."
            )
        self._num_batches = int(num_batches)
        self._workers = Workers.of_flags()
        # In synchronous training, each gradient received here is already the mean of all workers.
        self._waits = sync_on_apply and self._workers.several and not mox_flags.sync_replicas
        self._exchange: Exchange | None = None

    def _step(self, pairs: Pairs, global_step: Any, name: str | None) -> tf.Operation:
        with tf.name_scope(name, self._name):
            sums = [GradientSum(*pair, self._workers, "batch_gradients") for pair in pairs]
            done = self._add_and_apply(pairs, sums)
        return counted(done, global_step, name)

    def session_run_hooks(self) -> list[tf.train.SessionRunHook]:
        return [self._exchange.hook()] if self._exchange else []

    def _add_and_apply(self, pairs: Pairs, sums: list[GradientSum]) -> tf.Operation:
        steps = self._workers.own_variable(
            "batch_gradients/steps", pairs[0][1], lambda: tf.zeros([], tf.int64)
        )
        added = [
            operation
            for (gradient, _), total in zip(pairs, sums, strict=True)
            for operation in total.add(gradient)
        ]
        with tf.control_dependencies(added):
            number = tf.identity(steps.assign_add(1, read_value=True))
            is_due = tf.equal(tf.math.mod(number, self._num_batches), 0)
            apply = self._together(pairs, sums) if self._waits else self._alone(pairs, sums)

        def update() -> tf.Tensor:
            with tf.control_dependencies([apply()]):
                cleared = [operation for total in sums for operation in total.clear()]
            with tf.control_dependencies(cleared):
                return tf.constant(True)

        return tf.cond(is_due, update, lambda: tf.constant(False)).op

    def _alone(self, pairs: Pairs, sums: list[GradientSum]) -> Callable[[], tf.Operation]:
        return lambda: self._optimizer.apply_gradients(_means(pairs, sums, self._num_batches))

    def _together(self, pairs: Pairs, sums: list[GradientSum]) -> Callable[[], tf.Operation]:
        exchange = Exchange(self._workers, _means(pairs, sums, self._num_batches))
        self._exchange = exchange
        return lambda: exchange.apply(self._optimizer.apply_gradients)


def _means(pairs: Pairs, sums: list[GradientSum], count: int) -> Pairs:
    return [(each.mean(count), variable) for (_, variable), each in zip(pairs, sums, strict=True)]
