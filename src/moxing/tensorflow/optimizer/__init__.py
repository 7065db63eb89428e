"""Optimizers by name, and wrappers that change what one does with its gradients (manual 5).

Importing loads nothing: each name is looked for in its module when it is used.
"""

import importlib
from typing import Any

_HOME_OF = {
    "OptimizerKeys": "keys",
    "OptimizerWrapperKeys": "keys",
    "get_optimizer_fn": "factory",
    "get_optimizer_wrapper_fn": "wrappers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
