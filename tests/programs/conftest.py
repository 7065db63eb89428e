"""Whole programs through the real command line.

Each test has a home and a server of its own. A file with ``SHARED_HOME = True`` has one for all its
tests, whose folders stay their own: starting a server takes longer than most of them.
"""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from danlu.executors.warm_pool import WarmPool
from danlu.taskdir.processes import task_pids
from danlu.taskdir.warm_protocol import FOLDER

DANLU = Path(sys.executable).with_name("danlu")
ENDED = ("succeeded", "failed", "stopped")


class Person:
    """A user at a terminal, with an own home."""

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
            # Tests and their scripts meet in folders below /tmp.
            "DANLU_SHARE_TMP": "true",
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def script(self, text, name="train.py"):
        path = self.folder / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def types(self, *words, code=0, env=(), cwd=None):
        """Run a command to its end and return what it printed; ``code=None`` allows any."""
        done = subprocess.run(
            [DANLU, *map(str, words)],
            env={**self.env, **dict(env)},
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert code in (None, done.returncode), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
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

    def answers(self, *words, with_):
        """Run a command at a terminal, answer its question, and return its code and its text."""
        ours, theirs = pty.openpty()
        with open(ours, "r+b", buffering=0) as terminal:
            process = subprocess.Popen(
                [DANLU, *map(str, words)],
                **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
                env={**self.env, "TERM": "dumb"},
                cwd=self.folder,
                start_new_session=True,
            )
            os.close(theirs)
            terminal.write(with_.encode() + b"\n")
            shown = b""
            with contextlib.suppress(OSError):  # EIO: every process has closed the terminal
                while data := terminal.read(4096):
                    shown += data
            return process.wait(100), shown.decode()

    def asks(self, *words, code=0):
        """Run a command with --json and return its output."""
        return json.loads(self.types(*words, "--json", code=code).stdout)

    def removes_jobs(self):
        jobs = self.asks("ls")["jobs"]
        active = [job["id"] for job in jobs if job["state"] not in ENDED]
        if active:
            self.types("stop", *active, "--grace", "0", "--wait")
        if jobs:
            self.types("rm", "--force", *(job["id"] for job in jobs))

    def server(self):
        return json.loads((self.home / "server.json").read_text())["pid"]

    def kills_server(self):
        pid = self.server()
        os.kill(pid, signal.SIGKILL)
        self.waits_for(lambda: not Path(f"/proc/{pid}").exists() or is_zombie(pid))

    def waits_for(self, condition, seconds=100.0):
        """Return what ``condition`` gives as soon as it is true."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("it did not come true in time")

    def processes_of(self, job):
        return list(task_pids(f"{job['id']}/"))


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture(scope="session")
def warm_home(tmp_path_factory):
    """The home in which all jobs look for a warm process."""
    return tmp_path_factory.mktemp("waiting") / FOLDER


@pytest.fixture(scope="session")
def waiting(warm_home):
    processes = WarmPool(warm_home.parent, most=2)
    yield processes
    processes.close()


@pytest.fixture(autouse=True)
def _requested_process_is_loaded(waiting):
    """Load the requested warm process: the first job starts cold and requests one."""
    waiting.reconcile()


def a_folder_in(parent):
    folder = parent / "a folder with 空格 and 'quotes'"
    folder.mkdir()
    return folder


def lives(parent, warm_home):
    """Give a person a folder and a home below ``parent``; end what is left of them afterwards.

    Their server keeps no process with TensorFlow loaded, and their jobs take one that all share.
    """
    person = Person(parent / "home", a_folder_in(parent))
    person.home.mkdir(mode=0o700)
    (person.home / FOLDER).symlink_to(warm_home)
    yield person
    subprocess.run([DANLU, "down"], env=person.env, capture_output=True, timeout=60)
    for job in (person.home / "jobs").glob("*"):
        for pid in task_pids(f"{job.name}/"):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def alone(tmp_path, warm_home):
    """A person with a home and a server that no other test uses."""
    yield from lives(tmp_path, warm_home)


@pytest.fixture
def person(request, tmp_path):
    if getattr(request.module, "SHARED_HOME", False):
        home = request.getfixturevalue("resident").home
        person = Person(home, a_folder_in(tmp_path))
        yield person
        person.removes_jobs()
    else:
        yield request.getfixturevalue("alone")


@pytest.fixture(scope="module")
def resident(tmp_path_factory, warm_home):
    """One person and one server for all programs of a file: each takes a folder of its own."""
    yield from lives(tmp_path_factory.mktemp("resident"), warm_home)
