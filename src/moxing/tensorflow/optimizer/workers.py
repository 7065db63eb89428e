"""The index of this worker, its own variables, and the exchange of gradients with others."""

import itertools
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.tensorflow.executor.cluster.sync import Accumulated, Rounds, SynchronousHook, clearing
from moxing.tensorflow.optimizer.wrapping import Pairs
from moxing.tensorflow.utils.hyper_param_flags import mox_flags


@dataclass(frozen=True)
class Workers:
    count: int = 1
    index: int = 0

    @classmethod
    def of_flags(cls) -> "Workers":
        """Read the flags; without ``job_name`` this process is the only worker."""
        if not mox_flags.job_name:
            return cls()
        return cls(len(mox_flags.worker_hosts.split(",")), mox_flags.task_index)

    @property
    def several(self) -> bool:
        return self.count > 1

    def own_variable(self, name: str, like: Any, initial: Callable[[], Any]) -> tf.Variable:
        """Return a variable that only this worker uses.

        A single process saves it in its checkpoints, so that a resumed run continues with it.
        """
        collection = "LOCAL_VARIABLES" if self.several else "GLOBAL_VARIABLES"
        place = f"/job:worker/task:{self.index}" if self.several else like.device
        # Created outside of tf.cond, in whichever branch it is requested.
        with tf.init_scope(), tf.name_scope(None), tf.device(place):
            return tf.Variable(
                initial,
                name=name,
                trainable=False,
                use_resource=True,
                collections=[getattr(tf.GraphKeys, collection)],
            )


_numbers: weakref.WeakKeyDictionary[Any, Iterator[int]] = weakref.WeakKeyDictionary()


def next_number() -> int:
    """Return a number for an exchange, unique in its graph and equal in all workers."""
    return next(_numbers.setdefault(tf.get_default_graph(), itertools.count()))


class Exchange:
    """The exchange of gradients for one optimizer that makes its worker wait."""

    def __init__(self, workers: Workers, pairs: Pairs) -> None:
        self._workers = workers
        self._variables = [variable for _, variable in pairs]
        # Outside of tf.cond and without dependencies: the hook uses it before the first step.
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
            done = self.rounds.all_contributed() if is_chief else self.rounds.contributed()
        with tf.control_dependencies([done]):
            means = [each.take(self._workers.count) for each in self._kept]
            # Every worker builds it, the chief runs it: all have the same variables and placement.
            update = apply(list(zip(means, self._variables, strict=True)))
        if not is_chief:
            return done
        with tf.control_dependencies([update]):
            return tf.group(self.rounds.begin_next())

    def hook(self) -> tf.train.SessionRunHook:
        """Return the hook that joins the other workers, and at the end notifies them."""
        return SynchronousHook(self)
