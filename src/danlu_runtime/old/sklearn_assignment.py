"""``sklearn.utils.linear_assignment_``, removed in scikit-learn 0.23."""

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["linear_assignment"]


def linear_assignment(X: Any) -> Any:
    """Return the (row, column) pairs of the cheapest assignment, one per line."""
    return np.transpose(linear_sum_assignment(X))
