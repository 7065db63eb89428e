"""A job that is frozen: told of while it is, or ended and tried again."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from danlu.client.api import Client
from danlu.settings import Settings
from danlu.taskdir.process import marked
from danlu.testing.bench import eventually
from homes import a_home_in

# Computes until there is the file it is given, or until nobody can want it any more.
SCRIPT = """
import os, sys, time
print("up", flush=True)
while time.process_time() < 60 and not os.path.exists(sys.argv[1].split("=", 1)[1]):
    sum(range(20_000))
"""


@pytest.fixture
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Settings]:
    told = {"DANLU_HANG_TIMEOUT": "1", "DANLU_HANG": request.param}
    with a_home_in(tmp_path, DANLU_WARM="off", **told) as settings:
        yield settings


@pytest.fixture
def job(client: Client, upload: Callable[[str], str], tmp_path: Path) -> str:
    request = {"dialect": "modelarts", "code": upload(SCRIPT), "boot_file": "train.py"}
    return str(client.submit({**request, "parameters": {"end": str(tmp_path / "end")}})["id"])


def says(client: Client, job: str, text: str, attempt: int | None = None) -> bool:
    return any(text in line.text for line in client.lines(job, attempt=attempt).lines)


def send(settings: Settings, job: str, number: signal.Signals) -> None:
    """Signal every process of the script, and not its agent."""
    agents = {
        json.loads(path.read_text())["pid"] for path in settings.jobs.glob("*/*/*/agent.json")
    }
    for pid in set(marked(f"{job}/")) - agents:
        os.kill(pid, number)


@pytest.mark.parametrize("settings", ["warn"], indirect=True)
def test_a_frozen_job_is_told_of_until_it_goes_on(settings, client, job, tmp_path):
    eventually(lambda: says(client, job, "up"))

    send(settings, job, signal.SIGSTOP)
    eventually(lambda: client.job(job)["hang"])
    eventually(lambda: says(client, job, "nothing has moved for 1 s"))
    since = client.job(job)["hang"]["since"]
    os.kill(client.hello()["pid"], signal.SIGKILL)
    assert client.job(job)["hang"]["since"] == since
    assert [one["hang"]["since"] for one in client.jobs()["jobs"]] == [since]

    send(settings, job, signal.SIGCONT)
    eventually(lambda: client.job(job)["hang"] is None)
    eventually(lambda: says(client, job, "it moves again, after "))
    (tmp_path / "end").touch()
    assert client.wait(job, timeout=60)["state"] == "succeeded"


@pytest.mark.parametrize("settings", ["retry"], indirect=True)
def test_a_frozen_job_is_ended_and_tried_again_where_that_is_set(settings, client, job, tmp_path):
    eventually(lambda: says(client, job, "up"))

    send(settings, job, signal.SIGSTOP)
    eventually(lambda: client.job(job)["attempt"] > 1)
    (tmp_path / "end").touch()

    ended = client.wait(job, timeout=60)
    assert ended["state"] == "succeeded"
    assert ended["retried"]["hung"] >= 1
    assert not says(client, job, "moves again", attempt=1)
    why = "[danlu] ended: with its job, because nothing of it moved any more"
    assert says(client, job, why, attempt=1)
