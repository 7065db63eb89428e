"""What holds for all tests."""

import os
import signal
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from forked import INSIDE, VERSIONS, Template
from postgres import database as database
from postgres import postgres as postgres
from schedule import pytest_addoption as pytest_addoption
from schedule import pytest_collection_modifyitems as pytest_collection_modifyitems
from schedule import pytest_configure as pytest_configure
from schedule import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler
from seaweed import seaweed as seaweed

if TYPE_CHECKING:
    from danlu.records.sql import SqlRecords

# Run in the background, or under nohup, the tests are deaf to these; a user's process is not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# A test that wants processes with TensorFlow loaded keeps its own.
os.environ.setdefault("DANLU_WARM", "off")

# Here and not beside each contract: whichever folder is collected first imports it.
pytest.register_assert_rewrite("contracts")


_SEED = 7
_TEMPLATES = pytest.StashKey[dict[str, Template]]()


@pytest.fixture
def new_records() -> Iterator[Callable[..., "SqlRecords"]]:
    """Return a function that opens new records in a SQLite file of their own."""
    from fresh_records import fresh_records

    with fresh_records() as create:
        yield create


@pytest.fixture
def tf(request: pytest.FixtureRequest) -> ModuleType:
    """TensorFlow as a script of the first generation gets it; the test runs in a fork."""
    import tensorflow

    if request.node.get_closest_marker("unseeded") is None:
        _seed_every_graph(tensorflow)
    return tensorflow


@pytest.fixture
def tf2() -> ModuleType:
    """Plain TensorFlow 2 likewise."""
    import tensorflow

    tensorflow.random.set_seed(_SEED)
    _seed_every_graph(tensorflow)
    return tensorflow


def _seed_every_graph(tensorflow: ModuleType) -> None:
    """Let every run of a test draw the same numbers: a few steps of training learn by luck.

    A graph has its own seed, and an estimator builds a graph for each of its calls. The test
    process ends with the test, so nothing is put back.
    """
    import random

    import numpy as np

    graph_class = tensorflow.Graph
    original = graph_class.__init__

    def seeded(self: Any, *args: Any, **options: Any) -> None:
        original(self, *args, **options)
        self.seed = _SEED

    graph_class.__init__ = seeded
    np.random.seed(_SEED)
    random.seed(_SEED)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test with the fixture ``tf`` or ``tf2`` in a fork, its other fixtures included."""
    names = getattr(item, "fixturenames", ())
    wanted = next((name for name in VERSIONS if name in names), None)
    if wanted is None or INSIDE in os.environ:
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _run_in_fork(item, wanted):
        item.ihook.pytest_runtest_logreport(report=report)
    # Ends the fixtures of earlier tests in this process that the next test does not use.
    item.session._setupstate.teardown_exact(nextitem)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run_in_fork(item: pytest.Item, version: str) -> list[pytest.TestReport]:
    templates = item.config.stash.setdefault(_TEMPLATES, {})
    if version not in templates or not templates[version].alive:
        templates[version] = Template(VERSIONS[version])
    data, output = templates[version].run(item.nodeid, _timeout_of(item))
    read = item.config.hook.pytest_report_from_serializable
    reports: list[pytest.TestReport] = [read(config=item.config, data=each) for each in data]
    if not reports:
        location, keywords = item.location, dict.fromkeys(item.keywords, 1)
        reports = [pytest.TestReport(item.nodeid, location, keywords, "failed", output, "call")]
    for report in reports:
        if report.failed and output:
            report.sections.append(("Output of the test process", output))
    return reports


def _timeout_of(item: pytest.Item) -> float:
    """Return a little less than pytest's own timeout, which would end the whole run."""
    marker = item.get_closest_marker("timeout")
    limit = marker.args[0] if marker else item.config.getini("timeout")
    return float(limit or 3600) * 0.9


def pytest_unconfigure(config: pytest.Config) -> None:
    for template in config.stash.get(_TEMPLATES, {}).values():
        if template.alive:
            template.close()
