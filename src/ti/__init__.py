"""The TI SDK: estimators and sessions that submit training jobs to Danlu.

    from ti.tensorflow import TensorFlow

    TensorFlow(entry_point="train.py", source_dir="code").fit("cos://bucket/data")

Importing it connects to no server. Guide: docs/guides/ti-sdk.md; contract: docs/dialects/ti.md
``estimator``, ``framework``, ``tensorflow``, ``pytorch``, ``sklearn``: the estimators.
``arguments``, ``inputs``, ``data_source``, ``images``: what an estimator is given.
``submitting``, ``training_job``: from an estimator to a job, and back; one job.
``session``, ``exceptions``: the connection; what the SDK raises.
``following``, ``describing``: prints the log of a job; its status.
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
