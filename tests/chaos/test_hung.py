"""A frozen job: reported as hung, or stopped and retried."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.executor import eventually
from danlu.client.api import Client
from danlu.settings import Settings
from danlu.taskdir.processes import task_pids
from homes import a_home_in

# Computes until there is the file it is given, or until it is no longer needed.
SCRIPT = """
import os, sys, time
print("up", flush=True)
while time.process_time() < 60 and not os.path.exists(sys.argv[1].split("=", 1)[1]):
    sum(range(20_000))
"""


@pytest.fixture
def settings(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Settings]:
    reported = {"DANLU_HANG_TIMEOUT": "1", "DANLU_HANG": request.param}
    with a_home_in(tmp_path, DANLU_WARM="off", **reported) as settings:
        yield settings


@pytest.fixture
def job(client: Client, upload: Callable[[str], str], tmp_path: Path) -> str:
    request = {"dialect": "modelarts", "code": upload(SCRIPT), "boot_file": "train.py"}
    return str(client.submit({**request, "parameters": {"end": str(tmp_path / "end")}})["id"])


def has_line(client: Client, job: str, text: str, attempt: int | None = None) -> bool:
    return any(text in line.text for line in client.lines(job, attempt=attempt).lines)


def send(settings: Settings, job: str, number: signal.Signals) -> None:
    """Signal every process of the script, and not its agent."""
    agents = {
        json.loads(path.read_text())["pid"] for path in settings.jobs.glob("*/*/*/agent.json")
    }
    for pid in set(task_pids(f"{job}/")) - agents:
        os.kill(pid, number)


@pytest.mark.parametrize("settings", ["warn"], indirect=True)
def test_frozen_job_is_reported_until_it_goes_on(settings, client, job, tmp_path):
    eventually(lambda: has_line(client, job, "up"))

    send(settings, job, signal.SIGSTOP)
    eventually(lambda: client.job(job)["hang"])
    eventually(lambda: has_line(client, job, "no activity for 1 s"))
    since = client.job(job)["hang"]["since"]
    os.kill(client.hello()["pid"], signal.SIGKILL)
    assert client.job(job)["hang"]["since"] == since
    assert [one["hang"]["since"] for one in client.jobs()["jobs"]] == [since]

    send(settings, job, signal.SIGCONT)
    eventually(lambda: client.job(job)["hang"] is None)
    eventually(lambda: has_line(client, job, "active again after "))
    (tmp_path / "end").touch()
    assert client.wait(job, timeout=60)["state"] == "succeeded"


@pytest.mark.parametrize("settings", ["retry"], indirect=True)
def test_frozen_job_is_retried_if_configured(settings, client, job, tmp_path):
    eventually(lambda: has_line(client, job, "up"))

    send(settings, job, signal.SIGSTOP)
    eventually(lambda: client.job(job)["attempt"] > 1)
    (tmp_path / "end").touch()

    ended = client.wait(job, timeout=60)
    assert ended["state"] == "succeeded"
    assert ended["retried"]["hung"] >= 1
    assert not has_line(client, job, "active again", attempt=1)
    why = "[danlu] ended: with its job, because it made no progress"
    assert has_line(client, job, why, attempt=1)
