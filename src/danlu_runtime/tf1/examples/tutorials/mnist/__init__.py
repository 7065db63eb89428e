"""`tensorflow.examples.tutorials.mnist`: the data reader and the model of the MNIST tutorials."""

from danlu_runtime.tf1.examples.tutorials.mnist import input_data, mnist

__all__ = ["input_data", "mnist"]
