"""The name SDK users import: estimators and sessions that hand training jobs to Danlu.

    from ti.tensorflow import TensorFlow

    TensorFlow(entry_point="train.py", source_dir="code").fit("cos://bucket/data")

Importing costs next to nothing: a server is looked for, and if need be started, when one is needed.
Guide: docs/guides/ti-sdk.md; what is kept of the service's promises: docs/dialects/ti.md
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ti.session import Session

__all__ = ["Session", "data_source", "estimator", "pytorch", "session", "sklearn", "tensorflow"]


def __getattr__(name: str) -> Any:
    if name == "Session":
        return import_module("ti.session").Session
    if name in __all__:
        return import_module(f"ti.{name}")
    raise AttributeError(f"module 'ti' has no attribute {name!r}")
