"""`tf.contrib.learn.datasets`."""

from typing import Any

from danlu_runtime.tf1.contrib.learn.datasets import base, mnist
from danlu_runtime.tf1.contrib.learn.datasets.base import load_iris
from danlu_runtime.tf1.contrib.learn.datasets.mnist import load_mnist

GONE = {
    "load_boston": base.GONE["load_boston"],
    "load_dbpedia": "removed.dbpedia",
    "make_dataset": "removed.make_dataset",
}

DATASETS = {"iris": load_iris, "mnist": load_mnist}


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Return a data set by name."""
    if name not in DATASETS:
        raise ValueError(f"Name of dataset is not found: {name}. Known: {sorted(DATASETS)}.")
    return DATASETS[name]()
