"""One update from the gradients of several steps: a larger batch than memory holds."""

from collections.abc import Callable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.exchange import Exchange
from moxing.tensorflow.optimizer.gradient_sum import GradientSum
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import OptimizerWrapper, Pairs, counted
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


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
        # Synchronous training has all workers' gradients in every one it gives here.
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
