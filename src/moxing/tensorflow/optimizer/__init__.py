"""Optimizers by name, and wrappers that change how gradients are applied (manual, chapter 5).

Names are imported on first use.

``wrappers``, ``wrapping``: wrappers and optimizers by name; the base class of wrappers.
``batch_gradients``, ``easgd``, ``lars``, ``simple_sync_optimizer``: the wrappers.
``dynamic_momentum``, ``dynamic_momentumw``: optimizers with a changing momentum.
``learning_rate_scheduler``: learning rates by global step. ``workers``: number and index of
workers, and their local variables.
"""

import importlib
from typing import Any

_HOME_OF = {
    "OptimizerKeys": "wrappers",
    "OptimizerWrapperKeys": "wrappers",
    "get_optimizer_fn": "wrappers",
    "get_optimizer_wrapper_fn": "wrappers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
