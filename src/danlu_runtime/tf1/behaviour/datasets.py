"""Data sets of the first generation, whose methods all return data sets of the same kind.

TensorFlow 2.21 added methods to data sets, such as ``group_by_window``, which data sets of
``tf.contrib.data`` had in TensorFlow 1.2 to 1.4. Their results have no iterators of TensorFlow 1.
"""

import functools
from collections.abc import Callable
from typing import Any

# Functions of the class, not of an object.
_STATIC = frozenset(
    ("choose_from_datasets", "counter", "load", "random", "sample_from_datasets"),
)


def restore() -> None:
    """Wrap the methods that ``DatasetV1`` inherits; a second call is harmless."""
    from tensorflow.python.data.ops import dataset_ops

    first, second = dataset_ops.DatasetV1, dataset_ops.DatasetV2
    for name, method in vars(second).items():
        if name.startswith("_") or name in vars(first):
            continue
        if name in _STATIC:
            made = _as_first(getattr(second, name), dataset_ops)
            setattr(first, name, staticmethod(made))
        elif callable(method):
            setattr(first, name, _as_first(method, dataset_ops))


def _as_first(method: Callable[..., Any], ops: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def call(*args: Any, **named: Any) -> Any:
        result = method(*args, **named)
        is_second = isinstance(result, ops.DatasetV2) and not isinstance(result, ops.DatasetV1)
        return ops.DatasetV1Adapter(result) if is_second else result

    return call
