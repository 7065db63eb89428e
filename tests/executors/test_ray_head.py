"""A head of our own: what is done about one that does not come up, or does not stay."""

import sys

import pytest

from danlu.errors import Unavailable
from danlu.executors.ray.head import head_of, start_head, stop_head
from danlu.settings import Settings
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
print("Ray runtime started." if now in ("goes", "stays") else now, flush=True)
if now == "goes":
    time.sleep(1)
    print("Some Ray subprocesses exited unexpectedly:", flush=True)
if now in ("goes", "stays"):
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

    def start_one(*answers):
        (tmp_path / "answers").write_text("\n".join(answers))
        return start_head(settings, "127.0.0.1", (sys.executable, str(script)))

    return start_one


def test_a_head_that_loses_a_process_at_once_is_started_again(start, settings):
    head = start("goes", "The current node timed out during startup.", "stays")

    assert head.alive
    assert head == head_of(settings)


@pytest.mark.parametrize("answers", [("goes", "goes", "goes"), ("there is no such option",)])
def test_a_head_that_does_not_come_up_is_told_of(start, settings, answers):
    with pytest.raises(Unavailable, match="The Ray head did not start: "):
        start(*answers)

    assert head_of(settings) is None
