"""``tf.contrib.training.Tuner``: the interface of a tuner of hyper-parameters."""

import abc
from collections.abc import Callable
from typing import Any


class Tuner(abc.ABC):
    """Starts trials and receives their results; there was never an implementation in TensorFlow."""

    @abc.abstractmethod
    def next_trial(self) -> bool:
        """Begin the next trial; False when there is none."""

    @abc.abstractmethod
    def run_experiment(self, experiment_fn: Callable[..., Any]) -> None:
        """Create an experiment and train it."""
