"""Background work at the start of a server does not delay it."""

import os
import time
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.executors.api import open_executor
from danlu.service.platform import build
from danlu.settings import Settings
from danlu.storage.names import temporary

LONG_AGO = time.time() - 3600


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home", cpus=1, isolation="none")


def test_what_killed_writers_left_in_store_is_removed(settings):
    folder = settings.store / "code"
    folder.mkdir(parents=True)
    left, kept = folder / temporary("0123456789ab"), folder / "archive.tar.gz"
    for file in (left, kept):
        file.touch()
        os.utime(file, (LONG_AGO, LONG_AGO))

    platform = build(settings)
    platform.prepare()
    eventually(lambda: not left.exists())
    platform.close()

    assert kept.exists()


def test_agents_are_prepared_before_first_job_has_come(settings):
    executor = open_executor(settings, lambda: None)
    executor.prepare()

    eventually(lambda: any(b"danlu.agent.fork_server" in _command(pid) for pid in _children()))
    executor.close()


def _children():
    threads = Path("/proc/self/task").iterdir()
    return [pid for thread in threads for pid in (thread / "children").read_text().split()]


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
