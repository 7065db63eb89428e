"""The module that scripts of DLS and ModelArts import: files in object stores, and training.

Importing it loads nothing. ``file`` is in the module of every engine; ``run``, data sets, networks
and optimizers are in ``tensorflow``. Any other name of this module raises Unsupported when used.

``framework``: what all engines share. ``file``: the short name of ``framework.file``.
``tensorflow``: MoXing for TensorFlow 1. ``mxnet``, ``pytorch``: ``file`` only.
"""

import importlib
import logging
import os
from typing import Any

if not os.environ.get("MOX_SILENT_MODE") and logging.getLogger().level == logging.WARNING:
    # Scripts log their steps with logging.info and rely on MoXing to set the level.
    logging.getLogger().setLevel(logging.INFO)


def only(module: str, name: str, built: tuple[str, ...]) -> Any:
    """Return the submodule ``name`` where it is built, else refuse."""
    if name.startswith("__"):  # asked by Python itself: copy, inspect, `import *`
        raise AttributeError(name)
    if name in built:
        return importlib.import_module(f"{module}.{name}")
    from danlu.errors import NotInMoxing

    raise NotInMoxing.from_key("moxing.not_implemented", module=module, name=name)


_BUILT = ("file", "framework", "mxnet", "pytorch", "tensorflow")


def __getattr__(name: str) -> Any:
    return only("moxing", name, _BUILT)


def __dir__() -> list[str]:
    return sorted({*globals(), *_BUILT})
