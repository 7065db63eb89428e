"""Estimators for PyTorch scripts, which run with the PyTorch that is installed on the server.

``estimator``: the class PyTorch.
"""

from ti.pytorch.estimator import PyTorch

__all__ = ["PyTorch"]
