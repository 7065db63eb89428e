"""The name scripts of DLS and ModelArts import: files in the object store, and training loops.

Nothing of MoXing is built yet. Every name says so when it is used, and importing costs nothing.
"""

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):  # asked by Python itself: copy, inspect, `import *`
        raise AttributeError(name)
    from danlu.errors import Unsupported

    raise Unsupported(
        f"MoXing is not built yet: moxing.{name} is not there.",
        hint="data_url and train_url are local directories already: use open() and shutil on them.",
    )
