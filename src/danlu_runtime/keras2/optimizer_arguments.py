"""``Adam(lr=…, decay=…)`` with the optimizers of tf-keras 2.21, in TensorFlow 2.

The new ones ignore ``lr`` and refuse ``decay``. TensorFlow before 2.11 had the optimizers that
tf-keras keeps as ``optimizers.legacy``: scripts of these versions get them, and so does a call
with ``decay``.
"""

import functools
from collections.abc import Callable
from typing import Any

from danlu_runtime import notes
from danlu_runtime.keras2 import versions

_NAMES = ("Adadelta", "Adagrad", "Adam", "Adamax", "Ftrl", "Nadam", "RMSprop", "SGD")
_NEW_IN = (2, 11)
_ONLY_OLD = frozenset(("decay", "gradient_aggregator", "gradient_transformers"))


def accept() -> None:
    if versions.first_generation():
        return  # its API has the older optimizers
    from tf_keras.api._v2.keras import optimizers

    for name in _NAMES:
        old, new = getattr(optimizers.legacy, name), getattr(optimizers, name)
        if versions.tensorflow() < _NEW_IN:
            setattr(optimizers, name, old)
        else:
            new.__init__ = _accepting(new.__init__)
            new.__new__ = _choosing(new, old)
    if versions.tensorflow() < _NEW_IN:
        optimizers.Optimizer = optimizers.legacy.Optimizer
        _take_old_ones_by_name()


def _accepting(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
        original(self, *args, **kwargs)

    return __init__


def _choosing(new: type, old: type) -> Callable[..., Any]:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        if cls is new and not _ONLY_OLD.isdisjoint(kwargs):
            given = ", ".join(sorted(_ONLY_OLD.intersection(kwargs)))
            text = f"{new.__name__}({given}=…) is optimizers.legacy.{new.__name__}"
            notes.note("mapped", text, *notes.caller())
            return old(*args, **kwargs)
        return object.__new__(cls)

    return __new__


def _take_old_ones_by_name() -> None:
    """Let ``compile("adam")`` find the older one."""
    from tf_keras.src import optimizers

    original = optimizers.get

    @functools.wraps(original)
    def get(identifier: Any, **kwargs: Any) -> Any:
        if isinstance(identifier, str):
            kwargs["use_legacy_optimizer"] = True
        return original(identifier, **kwargs)

    optimizers.get = get
