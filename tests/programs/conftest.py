"""Whole programs through the real command line, each with a home and a server of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from danlu.executors.warm import WaitingProcesses
from danlu.taskdir.process import marked
from danlu.taskdir.warm import FOLDER

DANLU = Path(sys.executable).with_name("danlu")


class Person:
    """Somebody at a terminal, with their own home."""

    def __init__(self, home, folder):
        self.home = home
        self.folder = folder
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("DANLU_", "PYTHON"))}
        self.env = {
            **keep,
            "DANLU_HOME": str(home),
            "DANLU_IDLE_EXIT": "120",
            "DANLU_RETRY_DELAY": "0.1",
            "DANLU_CPUS": "4",
            "DANLU_WARM": os.environ["DANLU_WARM"],
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def script(self, text, name="train.py"):
        path = self.folder / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def types(self, *words, code=0, env=(), cwd=None):
        """Run a command to its end and return what it printed."""
        done = subprocess.run(
            [DANLU, *map(str, words)],
            env={**self.env, **dict(env)},
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def begins(self, *words):
        """Start a command and return at once."""
        return subprocess.Popen(
            [DANLU, *map(str, words)],
            env=self.env,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def asks(self, *words, code=0):
        """Run a command with --json and return what it says."""
        return json.loads(self.types(*words, "--json", code=code).stdout)

    def server(self):
        return json.loads((self.home / "server.json").read_text())["pid"]

    def kills_server(self):
        pid = self.server()
        os.kill(pid, signal.SIGKILL)
        self.waits_for(lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))

    def waits_for(self, condition, seconds=30.0):
        """Return what ``condition`` gives as soon as it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("it did not come true in time")

    def processes_of(self, job):
        return list(marked(f"{job['id']}/"))


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture(scope="session")
def shelf(tmp_path_factory):
    """Where everybody's jobs look for a process that waits with TensorFlow loaded."""
    return tmp_path_factory.mktemp("waiting") / FOLDER


@pytest.fixture(scope="session")
def waiting(shelf):
    processes = WaitingProcesses(shelf.parent, most=2)
    yield processes
    processes.close()


@pytest.fixture(autouse=True)
def _what_was_wished_for_is_loaded(waiting):
    """As on any machine the first job starts cold, and leaves word of what it would have taken."""
    waiting.tend()


def lives(parent, shelf):
    """Give a person a folder and a home below ``parent``; end what is left of them afterwards.

    Their server keeps no process with TensorFlow loaded, and their jobs take one that all share.
    """
    folder = parent / "a folder with 空格 and 'quotes'"
    folder.mkdir()
    person = Person(parent / "home", folder)
    person.home.mkdir(mode=0o700)
    (person.home / FOLDER).symlink_to(shelf)
    yield person
    subprocess.run([DANLU, "down"], env=person.env, capture_output=True, timeout=60)
    for job in (person.home / "jobs").glob("*"):
        for pid in marked(f"{job.name}/"):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def person(tmp_path, shelf):
    yield from lives(tmp_path, shelf)


@pytest.fixture(scope="module")
def resident(tmp_path_factory, shelf):
    """One person and one server for all programs of a file: each takes a folder of its own."""
    yield from lives(tmp_path_factory.mktemp("resident"), shelf)
