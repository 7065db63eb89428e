"""`tf.contrib.learn.datasets.mnist`: the MNIST reader of the tutorials."""

from danlu_runtime.tf1.examples.tutorials.mnist.input_data import (  # noqa: F401
    DEFAULT_SOURCE_URL,
    DataSet,
    Datasets,
    dense_to_one_hot,
    extract_images,
    extract_labels,
    read_data_sets,
)


def load_mnist(train_dir: str = "MNIST-data") -> Datasets:
    return read_data_sets(train_dir)
