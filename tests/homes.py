"""A home with a server of its own, and code brought to it."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from danlu.client import bundle, connect
from danlu.client.api import Client
from danlu.settings import Settings, load
from danlu.taskdir.processes import task_pids


@contextlib.contextmanager
def a_home_in(folder: Path, **variables: str) -> Iterator[Settings]:
    """Give the settings of a home whose jobs and server are gone afterwards."""
    # Tests and their scripts meet in folders below /tmp.
    shared = {"DANLU_SHARE_TMP": "true"}
    reported = {"DANLU_CPUS": "4", "DANLU_RETRY_DELAY": "0.1", **shared, **variables}
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
            monkeypatch.delenv(name)
        for name, value in {"DANLU_HOME": str(folder / "home"), **reported}.items():
            monkeypatch.setenv(name, value)
        yield (settings := load())
        connect(settings).shutdown()
        for job in settings.jobs.glob("*"):
            for pid in task_pids(f"{job.name}/"):
                os.kill(pid, signal.SIGKILL)


def packed(folder: Path, client: Client, settings: Settings) -> str:
    """Bring a folder of code to the server; return its URI."""
    with bundle.packed(bundle.select(folder, settings)) as archive:
        return client.upload_code(archive)
