"""The name scripts of DLS and ModelArts import: files in the object store, and training loops.

``mox.file`` is there, from every engine's module; of the rest every name says that it is not
built yet when it is used. Importing loads nothing.
"""

import importlib
import logging
import os
from typing import Any

if not os.environ.get("MOX_SILENT_MODE") and logging.getLogger().level == logging.WARNING:
    # Scripts show their steps with logging.info and leave it to MoXing that it is heard.
    logging.getLogger().setLevel(logging.INFO)


def only(module: str, name: str, built: tuple[str, ...]) -> Any:
    """Return the submodule ``name`` where it is built, else refuse."""
    if name.startswith("__"):  # asked by Python itself: copy, inspect, `import *`
        raise AttributeError(name)
    if name in built:
        return importlib.import_module(f"{module}.{name}")
    from danlu.errors import Unsupported

    raise Unsupported(
        f"MoXing is not built yet: {module}.{name} is not there.",
        hint="mox.file is in every module; mox.run, data sets and models are in moxing.tensorflow: "
        "write `import moxing.tensorflow as mox`.",
    )


_BUILT = ("file", "framework", "mxnet", "pytorch", "tensorflow")


def __getattr__(name: str) -> Any:
    return only("moxing", name, _BUILT)


def __dir__() -> list[str]:
    return sorted({*globals(), *_BUILT})
