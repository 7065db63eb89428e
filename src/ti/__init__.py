"""The name SDK users import: sessions and estimators that hand jobs to Danlu.

Nothing of the SDK is built yet. Every name says so when it is used, and importing costs nothing.
"""

from typing import NoReturn


def __getattr__(name: str) -> NoReturn:
    if name.startswith("__"):  # asked by Python itself: copy, inspect, `import *`
        raise AttributeError(name)
    from danlu.errors import Unsupported

    raise Unsupported(
        f"The TI SDK is not built yet: ti.{name} is not there.",
        hint="Run the script as a job instead: danlu run code/ --boot-file train.py",
    )
