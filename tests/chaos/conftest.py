"""A home of its own for each test, random moments, and a place for numbers."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.client import connect
from danlu.settings import Settings, load
from danlu.taskdir.process import marked
from trials import Chance, Measured


@pytest.fixture
def chance() -> Chance:
    return Chance()


@pytest.fixture
def measured(request: pytest.FixtureRequest, chance: Chance) -> Measured:
    return Measured(request.node.nodeid, chance.number)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Settings]:
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_CPUS", "4")
    monkeypatch.setenv("DANLU_RETRY_DELAY", "0.1")
    yield (settings := load())
    connect(settings).shutdown()
    for job in settings.jobs.glob("*"):
        for pid in marked(f"{job.name}/"):
            os.kill(pid, signal.SIGKILL)
