"""What holds for all tests."""

import os
import signal
from collections.abc import Iterator
from types import ModuleType

import pytest

from forked import INSIDE, VERSIONS, Template
from postgres import database as database
from postgres import postgres as postgres
from seaweed import seaweed as seaweed
from together import pytest_collection_modifyitems as pytest_collection_modifyitems
from together import pytest_xdist_make_scheduler as pytest_xdist_make_scheduler

# Run in the background, or under nohup, the tests are deaf to these; a user's process is not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for _number in (signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)

# A test that wants processes with TensorFlow loaded keeps its own.
os.environ.setdefault("DANLU_WARM", "off")

# Here and not beside each contract: whichever folder is collected first imports it.
pytest.register_assert_rewrite("danlu.testing")


@pytest.fixture(scope="session")
def templates() -> Iterator[dict[str, Template]]:
    """Processes that have TensorFlow imported, by fixture; started when a test needs one."""
    started: dict[str, Template] = {}
    yield started
    for template in started.values():
        if template.alive:
            template.close()


@pytest.fixture
def tf(templates: object) -> ModuleType | None:
    """TensorFlow as a script of the first generation gets it; the test runs in a fork."""
    return _imported()


@pytest.fixture
def tf2(templates: object) -> ModuleType | None:
    """Plain TensorFlow 2 likewise."""
    return _imported()


def _imported() -> ModuleType | None:
    if INSIDE not in os.environ:
        return None  # the test itself is run elsewhere
    import tensorflow

    return tensorflow


def _patience(test: pytest.Function) -> float:
    """Return a little less than pytest's own, which would end the whole run."""
    marker = test.get_closest_marker("timeout")
    limit = marker.args[0] if marker else test.config.getini("timeout")
    return float(limit or 3600) * 0.9


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    wanted = next((name for name in VERSIONS if name in pyfuncitem.fixturenames), None)
    if wanted is None or INSIDE in os.environ:
        return None
    templates: dict[str, Template] = pyfuncitem.funcargs["templates"]
    if wanted not in templates or not templates[wanted].alive:
        templates[wanted] = Template(VERSIONS[wanted])
    code, output = templates[wanted].run(pyfuncitem.nodeid, _patience(pyfuncitem))
    if code:
        pytest.fail(output or f"exit code {code}", pytrace=False)
    return True
