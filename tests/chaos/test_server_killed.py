"""The server is killed at any moment: nothing acknowledged is lost, nothing runs twice."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from danlu.client import bundle, connect
from danlu.settings import load
from danlu.taskdir.process import marked

WORDS = """
import os, sys, time
folder = sys.argv[1].split("=", 1)[1]
open(os.path.join(folder, "runs"), "a").write("x")
for n in range(3):
    print("line", n)
    time.sleep(0.05)
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    for name in [n for n in os.environ if n.startswith(("DANLU_", "PYTHON"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DANLU_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DANLU_CPUS", "4")
    settings = load()
    yield settings
    connect(settings).shutdown()
    for job in settings.jobs.glob("*"):
        for pid in marked(f"{job.name}/"):
            os.kill(pid, signal.SIGKILL)


class Killer(threading.Thread):
    """Kills the server of a home at random moments until told to leave."""

    def __init__(self, home, seed):
        super().__init__(daemon=True)
        self.home, self.random = home, random.Random(seed)
        self.kills, self.done = 0, threading.Event()

    def run(self):
        while not self.done.wait(self.random.uniform(0.0, 1.0)):
            try:
                pid = int(
                    Path(self.home, "server.json").read_text().split('"pid":')[1].split(",")[0]
                )
                os.kill(pid, signal.SIGKILL)
                self.kills += 1
            except (OSError, IndexError, ValueError):
                continue  # between two servers


def submit_under_fire(settings, tmp_path, *, count, kills):
    seed = int(time.time())
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(WORDS)
    client = connect(settings)
    archive, _ = bundle.pack(bundle.select(code, settings))
    uri = client.upload_code(archive)
    archive.unlink()
    killer = Killer(settings.home, seed)
    killer.start()
    jobs = []
    try:
        while len(jobs) < count or killer.kills < kills:
            request = {
                "dialect": "modelarts",
                "code": uri,
                "boot_file": "train.py",
                "train_url": f"obs://bucket/out-{len(jobs)}",
            }
            jobs.append(client.submit(request))
    finally:
        killer.done.set()
        killer.join()
    print(f"seed {seed}: {killer.kills} kills over {len(jobs)} submits")
    return client, jobs


def check_each_ran_once(settings, client, jobs):
    for n, job in enumerate(jobs):
        view = client.wait(job["id"], timeout=120)
        assert view["state"] == "succeeded", view
        assert view["attempt"] == 1
        runs = settings.store / "buckets" / "bucket" / f"out-{n}" / "runs"
        assert runs.read_text() == "x"
        lines = [line.text for line in client.follow(job["id"])]
        assert [line for line in lines if line.startswith("line")] == ["line 0", "line 1", "line 2"]
    assert len(client.jobs(limit=len(jobs) + 1)["jobs"]) == len(jobs)


def test_jobs_survive_a_server_that_is_killed_again_and_again(settings, tmp_path):
    client, jobs = submit_under_fire(settings, tmp_path, count=12, kills=3)

    check_each_ran_once(settings, client, jobs)


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_hundreds_of_jobs_survive_too(settings, tmp_path):
    client, jobs = submit_under_fire(settings, tmp_path, count=300, kills=30)

    check_each_ran_once(settings, client, jobs)
