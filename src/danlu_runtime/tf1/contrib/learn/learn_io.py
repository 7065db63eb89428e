"""`tensorflow.contrib.learn.python.learn.learn_io`: the module that `learn.io` was made of."""

from typing import Any

from danlu_runtime.tf1.contrib.learn import io


def __getattr__(name: str) -> Any:
    return getattr(io, name)
