"""One update from the gradients of several steps: a larger batch than memory holds."""

from collections.abc import Iterable
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.optimizer.exchange import Exchange
from moxing.tensorflow.optimizer.gradient_sum import GradientSum
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import (
    OptimizerWrapper,
    Pairs,
    counted,
    with_gradients,
)
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
        waits = sync_on_apply and self._workers.several and not mox_flags.sync_replicas
        self._exchange = Exchange(self._workers, "batch_gradients") if waits else None

    def apply_gradients(
        self, grads_and_vars: Iterable[Any], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        pairs = with_gradients(grads_and_vars)
        with tf.name_scope(name, self._name):
            sums = [GradientSum(*pair, self._workers, "batch_gradients") for pair in pairs]
            done = self._step(pairs, sums)
        return counted(done, global_step, name)

    def session_run_hooks(self) -> list[tf.train.SessionRunHook]:
        return self._exchange.hooks() if self._exchange else []

    def _step(self, pairs: Pairs, sums: list[GradientSum]) -> tf.Operation:
        steps = self._workers.own_variable(
            "batch_gradients/steps", pairs[0][1], lambda: tf.zeros([], tf.int64)
        )
        added = [
            operation
            for (gradient, _), total in zip(pairs, sums, strict=True)
            for operation in total.add(gradient)
        ]
        with tf.control_dependencies(added):
            number = steps.assign_add(1, read_value=True)
            is_due = tf.equal(tf.math.mod(tf.identity(number), self._num_batches), 0)

        def update() -> tf.Tensor:
            variables = [variable for _, variable in pairs]
            means = [total.mean(self._num_batches) for total in sums]
            applied = self._apply(list(zip(means, variables, strict=True)))
            with tf.control_dependencies([applied]):
                cleared = [operation for total in sums for operation in total.clear()]
            with tf.control_dependencies(cleared):
                return tf.constant(True)

        return tf.cond(is_due, update, lambda: tf.constant(False)).op

    def _apply(self, pairs: Pairs) -> tf.Operation:
        if self._exchange is not None:
            return self._exchange.apply(pairs, self._optimizer.apply_gradients)
        return self._optimizer.apply_gradients(pairs)
