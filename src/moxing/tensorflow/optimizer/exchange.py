"""Workers that wait for each other at some of their steps, and apply one mean of their gradients.

The turns are those of synchronous training; what is different is that a step may be inside
``tf.cond``, so that what workers share is made before it.
"""

import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.rounds import Rounds
from moxing.tensorflow.executor.cluster.sync import Accumulated, SynchronousHook, clearing
from moxing.tensorflow.optimizer.workers import Workers
from moxing.tensorflow.optimizer.wrapping import Pairs

_numbers: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


def next_number() -> int:
    """Return what tells exchanges of one graph apart; in every worker it is the same."""
    return next(_numbers.setdefault(tf.get_default_graph(), itertools.count()))


class Exchange:
    """One for each optimizer that lets its worker wait."""

    def __init__(self, workers: Workers, pairs: Pairs) -> None:
        self._workers = workers
        self._variables = [variable for _, variable in pairs]
        # Out of tf.cond, and waiting for nothing: the hook uses it before there is a step.
        with tf.init_scope():
            name = f"mox_exchange_{next_number()}"
            self._kept = [
                Accumulated(gradient, variable, f"{name}/{index}")
                for index, (gradient, variable) in enumerate(pairs)
            ]
            self.rounds = Rounds(name, workers.index, workers.count)
            self.clear: Callable[[Any, int], None] = clearing(self._kept)

    def apply(self, apply: Callable[[Pairs], tf.Operation]) -> tf.Operation:
        """Return an operation that ends when the chief has applied the mean of all workers."""
        is_chief, number = self._workers.index == 0, self.rounds.number
        with tf.control_dependencies([each.add(number) for each in self._kept]):
            done = self.rounds.everybody() if is_chief else self.rounds.contributed()
        with tf.control_dependencies([done]):
            means = [each.take(self._workers.count) for each in self._kept]
            # Built by every worker, run by the chief: all have the same variables, and places.
            update = apply(list(zip(means, self._variables, strict=True)))
        if not is_chief:
            return done
        with tf.control_dependencies([update]):
            return tf.group(self.rounds.begin_next())

    def hook(self) -> tf.train.SessionRunHook:
        """Return the hook that joins the others, and at the end tells them."""
        return SynchronousHook(self)
