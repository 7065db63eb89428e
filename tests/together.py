"""Which tests share a process of ``make test``.

A cluster or a service takes seconds to start and does not fit on two cores twice, so all tests
that need it run where it has been started. xdist's own groups are a suffix of a test's name,
which pytest since 9.2 does not take: the tests are named here by how their names begin.
"""

import pytest

SHARED = {
    "ray": (
        "tests/executors/test_ray.py::",
        "tests/executors/test_ray_faults.py::",
        "tests/programs/test_ray.py::",
        "tests/programs/test_ray_network.py::",
        "tests/chaos/test_peer_killed_on_ray.py::",
    ),
    "seaweed": (
        "tests/programs/test_stores.py::",
        "tests/runtime/tffs/test_service.py::",
        "tests/storage/test_s3_contract.py::",
        "tests/storage/test_s3_processes.py::",
        "tests/storage/test_s3_resume.py::",
        "tests/storage/test_s3_service.py::",
        "tests/storage/test_s3_uploads.py::",
        "tests/storage/test_sync.py::",
    ),
    "postgres": (
        "tests/chaos/test_two_servers.py::",
        "tests/records/test_postgres.py::",
        "tests/records/test_postgres_odd.py::",
        "tests/test_docs.py::test_what_is_marked_run_runs_with_a_database",
    ),
    "resident": ("tests/programs/test_tf1_programs.py::",),
}


def group_of(test: str) -> str:
    """Return what a test shares with others, or its own name."""
    return next((group for group, names in SHARED.items() if test.startswith(names)), test)


def needs_of(item: pytest.Item) -> set[str]:
    """Return what a test needs that others need, too, and that takes long to start."""
    needs = {"ray"} if item.get_closest_marker("ray") else set()
    return needs | {"seaweed", "postgres"}.intersection(getattr(item, "fixturenames", ()))


@pytest.hookimpl(optionalhook=True)  # forks with TensorFlow have no xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Give groups to workers, the largest first, then one test after the other."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Together(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    named = ((item.nodeid, needs_of(item)) for item in items)
    apart = [name for name, needs in named if needs and group_of(name) not in needs]
    if apart:
        raise pytest.UsageError(
            "These tests need what others have started already; "
            f"name them in SHARED of tests/together.py: {', '.join(apart)}"
        )
