"""Small data that tests of Keras train on."""

from typing import Any

import pytest


@pytest.fixture
def points() -> Any:
    """Return 64 points of four numbers, and whether the sum of each is above 2."""
    import numpy as np

    numbers = np.random.RandomState(1).rand(64, 4).astype("float32")
    return numbers, (numbers.sum(axis=1) > 2).astype("int32")
