"""The contract's assertions show their values, as those of a test file do."""

import pytest

pytest.register_assert_rewrite(
    "danlu.testing.executor", "danlu.testing.executor_room", "danlu.testing.bench"
)
