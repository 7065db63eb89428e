"""A head of our own: what is done about one that does not come up, or does not stay."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.errors import Unavailable
from danlu.executors.ray.head import _stays, head_of, start_head, stop_head
from danlu.settings import Settings
from ray_cluster import require_ray

# A head outlives the process that started it.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")

# The output of Ray, printed by another program: each start of it takes the next line of a file.
STANDS_IN = """
import os, pathlib, subprocess, sys, time
answers = pathlib.Path(__file__).with_name("answers")
now, *later = answers.read_text().splitlines()
answers.write_text("\\n".join(later))
if now == "goes":
    lost = subprocess.Popen(["true"])
    os.waitid(os.P_PID, lost.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is still listed
if now == "taken":
    print("Failed to bind to 127.0.0.1:8265 because it's already occupied.", flush=True)
if now == "blind":
    print("Failed to start the dashboard , return code 1", flush=True)
comes = now in ("goes", "stays", "taken", "blind")
print("Ray runtime started." if comes else now, flush=True)
if now == "goes":
    time.sleep(1)
    print("Some Ray subprocesses exited unexpectedly:", flush=True)
if comes:
    time.sleep(600)
"""


@pytest.fixture
def settings(tmp_path):
    require_ray()
    settings = Settings(home=tmp_path / "home", store=tmp_path / "store", store_shared=True)
    yield settings
    stop_head(settings)


@pytest.fixture
def start(settings, tmp_path):
    """Return a function that starts a head with the given responses, one time after the other."""
    script = tmp_path / "head.py"
    script.write_text(STANDS_IN)

    def start_one(*answers, settings=settings):
        (tmp_path / "answers").write_text("\n".join(answers))
        return start_head(settings, "127.0.0.1", (sys.executable, str(script)))

    return start_one


def test_head_that_loses_process_is_restarted(start, settings):
    head = start("goes", "The current node timed out during startup.", "stays")

    assert head.alive
    assert head == head_of(settings)


LOSES = """
import os, subprocess
input()
lost = subprocess.Popen(["true"])
os.waitid(os.P_PID, lost.pid, os.WEXITED | os.WNOWAIT)
print(flush=True)
input()
"""


class WordsOfALoser:
    """The log of a head that loses a process just before it reports that it is up."""

    def __init__(self, process):
        self._process = process
        self._output = b""

    def read_bytes(self):
        if not self._output:
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            self._process.stdout.readline()
            self._output = b"Ray runtime started."
        else:
            self._output = b"Some Ray subprocesses exited unexpectedly:"
        return self._output


def test_process_lost_during_head_start_is_detected():
    command = [sys.executable, "-c", LOSES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert not _stays(process, WordsOfALoser(process))


def test_head_without_dashboard_port_is_restarted(start, settings):
    head = start("taken", "stays")

    options = Path(f"/proc/{head.pid}/cmdline").read_text().split("\0")
    assert f"--dashboard-port={head.dashboard.rpartition(':')[2]}" in options
    assert "--dashboard-host=127.0.0.1" in options
    assert head == head_of(settings)


def test_a_head_without_a_dashboard_reports_of_none(start, settings):
    head = start("blind")

    assert (head.alive, head.dashboard) == (True, "")


def test_head_that_earlier_version_started_is_found(start, settings):
    head = start("stays")
    file = settings.home / "ray" / "head.json"
    reported = json.loads(file.read_text())
    del reported["dashboard"]
    file.write_text(json.dumps(reported))

    assert head_of(settings) == dataclasses.replace(head, dashboard="")


def test_head_offers_the_resources_of_the_settings(start, settings):
    reported = dataclasses.replace(settings, cpus=0.5, memory=3 << 30, gpus="4,6")
    process = Path(f"/proc/{start('stays', settings=reported).pid}")

    options = (process / "cmdline").read_text().split("\0")
    assert {"--num-cpus=1", f"--memory={3 << 30}", "--num-gpus=2"} <= set(options)
    assert "CUDA_VISIBLE_DEVICES=4,6" in (process / "environ").read_text().split("\0")


def test_head_of_killed_starter_is_ended(start, settings):
    head = start("stays")
    (settings.home / "ray" / "head.json").unlink()  # what its starter had yet to write

    assert stop_head(settings)

    eventually(lambda: not head.alive)
    assert not stop_head(settings)


@pytest.mark.parametrize("answers", [("goes", "goes", "goes"), ("there is no such option",)])
def test_head_that_does_not_come_up_is_reported(start, settings, answers):
    with pytest.raises(Unavailable, match="The Ray head did not start: "):
        start(*answers)

    assert head_of(settings) is None
