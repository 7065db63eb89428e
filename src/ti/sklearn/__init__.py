"""scikit-learn scripts: run as they are, with the scikit-learn that is installed there."""

from ti.sklearn.estimator import SKLearn

__all__ = ["SKLearn"]
