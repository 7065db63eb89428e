"""What holds for all tests."""

import pytest

# Here and not beside each contract: whichever folder is collected first imports it.
pytest.register_assert_rewrite("danlu.testing")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a cluster together: two clusters do not fit on two cores."""
    for item in items:
        if item.get_closest_marker("ray"):
            item.add_marker(pytest.mark.xdist_group("ray"))
