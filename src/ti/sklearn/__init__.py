"""Estimators for scikit-learn scripts, which run with the scikit-learn of the server.

``estimator``: the class SKLearn.
"""

from ti.sklearn.estimator import SKLearn

__all__ = ["SKLearn"]
