"""`tensorflow.contrib.learn.python.learn.evaluable`."""

from danlu_runtime.tf1.contrib.learn.trainable import Evaluable

__all__ = ["Evaluable"]
