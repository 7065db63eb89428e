"""What an Experiment asks of an estimator: to be trained and to be evaluated."""

import abc
from typing import Any


class Trainable(abc.ABC):
    """Has `fit`."""

    @abc.abstractmethod
    def fit(self, *args: Any, **kwargs: Any) -> Any: ...


class Evaluable(abc.ABC):
    """Has `evaluate` and `model_dir`."""

    @property
    @abc.abstractmethod
    def model_dir(self) -> str: ...

    @abc.abstractmethod
    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...
