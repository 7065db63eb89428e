"""``sklearn.utils.linear_assignment_``, which left scikit-learn with 0.23."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["linear_assignment"]


def linear_assignment(X: Any) -> Any:
    """Return the pairs (row, column) of the cheapest assignment, one pair a line."""
    return np.transpose(linear_sum_assignment(X))
