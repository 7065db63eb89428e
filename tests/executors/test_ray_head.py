"""A head of our own: what is done about one that does not come up, or does not stay."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest

from danlu.errors import Unavailable
from danlu.executors.ray.head import head_of, start_head, stop_head
from danlu.settings import Settings
from danlu.testing.bench import eventually
from ray_cluster import require_ray

# A head outlives whoever has started it.
pytestmark = pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")

# What Ray says, from a process that is no Ray: each start of it takes the next line of a file.
STANDS_IN = """
import pathlib, subprocess, sys, time
answers = pathlib.Path(__file__).with_name("answers")
now, *later = answers.read_text().splitlines()
answers.write_text("\\n".join(later))
if now == "goes":
    lost = subprocess.Popen(["true"])
    time.sleep(0.2)
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
    """Return a function that starts a head which answers as told, one time after the other."""
    script = tmp_path / "head.py"
    script.write_text(STANDS_IN)

    def start_one(*answers, settings=settings):
        (tmp_path / "answers").write_text("\n".join(answers))
        return start_head(settings, "127.0.0.1", (sys.executable, str(script)))

    return start_one


def test_a_head_that_loses_a_process_at_once_is_started_again(start, settings):
    head = start("goes", "The current node timed out during startup.", "stays")

    assert head.alive
    assert head == head_of(settings)


def test_a_head_whose_dashboard_lost_its_port_to_another_is_started_again(start, settings):
    head = start("taken", "stays")

    options = Path(f"/proc/{head.pid}/cmdline").read_text().split("\0")
    assert f"--dashboard-port={head.dashboard.rpartition(':')[2]}" in options
    assert "--dashboard-host=127.0.0.1" in options
    assert head == head_of(settings)


def test_a_head_without_a_dashboard_tells_of_none(start, settings):
    head = start("blind")

    assert (head.alive, head.dashboard) == (True, "")


def test_a_head_that_an_earlier_version_started_is_found(start, settings):
    head = start("stays")
    file = settings.home / "ray" / "head.json"
    told = json.loads(file.read_text())
    del told["dashboard"]
    file.write_text(json.dumps(told))

    assert head_of(settings) == dataclasses.replace(head, dashboard="")


def test_a_head_gives_out_what_the_settings_say_and_no_more(start, settings):
    told = dataclasses.replace(settings, cpus=0.5, memory=3 << 30, gpus="4,6")
    process = Path(f"/proc/{start('stays', settings=told).pid}")

    options = (process / "cmdline").read_text().split("\0")
    assert {"--num-cpus=1", f"--memory={3 << 30}", "--num-gpus=2"} <= set(options)
    assert "CUDA_VISIBLE_DEVICES=4,6" in (process / "environ").read_text().split("\0")


def test_a_head_whose_starter_was_killed_on_the_way_is_ended(start, settings):
    head = start("stays")
    (settings.home / "ray" / "head.json").unlink()  # what its starter had yet to write

    assert stop_head(settings)

    eventually(lambda: not head.alive)
    assert not stop_head(settings)


@pytest.mark.parametrize("answers", [("goes", "goes", "goes"), ("there is no such option",)])
def test_a_head_that_does_not_come_up_is_told_of(start, settings, answers):
    with pytest.raises(Unavailable, match="The Ray head did not start: "):
        start(*answers)

    assert head_of(settings) is None
