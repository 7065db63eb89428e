import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

import danlu.client.background
from danlu.client import background, connect
from danlu.settings import load

FAKE = Path(__file__).parents[1] / "server" / "fake_platform.py"


class Platform:
    """A home of its own and the server of the fake platform in it, as clients meet it."""

    def __init__(self, settings):
        self.settings = settings

    def connect(self):
        return connect(self.settings)

    @property
    def pid(self):
        return json.loads((self.settings.home / "lock").read_text())["pid"]

    def kill(self):
        """End the server as a power cut would; nothing where it is dead already."""
        pid = self.pid
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if str(self.settings.home).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    def write_output(self, job, text):
        with open(self.settings.home / "fake" / f"{job['id']}.log", "a") as log:
            log.write(text)

    def end(self, job, how="succeeded"):
        (self.settings.home / "fake" / f"{job['id']}.end").write_text(how)

    def starts(self):
        """How often a server of this home began to serve."""
        return (self.settings.home / "server.log").read_text().count(" serve pid=")


@pytest.fixture
def platform(tmp_path, monkeypatch):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(
        danlu.client.background,
        "command",
        lambda settings: [sys.executable, str(FAKE), "--home", str(settings.home)],
    )
    settings = load()
    yield Platform(settings)
    with contextlib.suppress(Exception):
        background.bring_down(settings)


@pytest.fixture
def until():
    def wait(condition):
        deadline = time.monotonic() + 100
        while not condition():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.01)

    return wait
