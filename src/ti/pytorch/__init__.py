"""PyTorch scripts: run as they are, with the PyTorch that is installed where they run."""

from ti.pytorch.estimator import PyTorch

__all__ = ["PyTorch"]
